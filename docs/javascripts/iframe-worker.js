/* Search runs in a worker. Browsers start no worker for pages that are opened from the file system, so
   there a hidden frame runs its script. The name tells Zensical not to load such a script from the network. */
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inner = this.frame.contentWindow;
      inner.postMessage = (data) => this.onmessage?.({ data: structuredClone(data) });
      this.loaded = new Promise((resolve) => {
        const script = inner.document.createElement("script");
        script.src = new URL(url, document.baseURI).href;
        script.onload = () => resolve(inner);
        script.onerror = () => this.onerror?.(new Event("error"));
        inner.document.head.append(script);
      });
    }
    postMessage(data) {
      this.loaded.then((inner) => inner.onmessage({ data: structuredClone(data) }));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
