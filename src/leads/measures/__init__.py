"""The estimators of the measure by name. A new one is its own file and one line here."""

from leads.config.registry import Registry

MEASURES = Registry(
    "measure",
    ("init", "loss"),
    {
        "c-learning": "leads.measures.c_learning:CLearning",
        "infonce": "leads.measures.infonce:InfoNCE",
        "td-infonce": "leads.measures.td_infonce:TDInfoNCE",
        "metric": "leads.measures.metric:Metric",
    },
)
