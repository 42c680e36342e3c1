"""Ways to improve LEADS's policy by name. A new one is its own file and one line here."""

from leads.config.registry import Registry

IMPROVEMENTS = Registry(
    "improve",
    ("init", "policy", "improve"),
    {
        "measure": "leads.improvement.through_measure:ThroughMeasure",
        "sac": "leads.improvement.off_policy:OffPolicy",
    },
)
