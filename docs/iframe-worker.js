// Search in pages that were opened from disk: browsers start no worker there, so its script runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.scope = frame.contentWindow;
      this.scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.scope.importScripts = (...urls) => Promise.all(urls.map((each) => this.load(each)));
      this.ready = this.load(url);
    }
    load(url) {
      return new Promise((resolve, reject) => {
        const script = this.scope.document.createElement("script");
        script.src = url;
        script.onload = resolve;
        script.onerror = reject;
        this.scope.document.body.append(script);
      });
    }
    async postMessage(data) {
      await this.ready;
      this.scope.dispatchEvent(new this.scope.MessageEvent("message", { data }));
    }
    terminate() {
      this.scope.frameElement.remove();
    }
  };
}
