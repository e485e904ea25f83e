/* Pages that are opened from a folder may start no worker: there the search's script runs in a hidden frame. */
if (location.protocol === "file:") {
  // the second name is the one that the theme looks for
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(address) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = (this.inside = this.frame.contentWindow);
      inside.document.open();
      inside.document.write("<!doctype html><body></body>");
      inside.document.close();
      const load = (script) =>
        new Promise((done, failed) => {
          const element = Object.assign(inside.document.createElement("script"), { src: script, onload: done, onerror: failed });
          inside.document.body.append(element);
        });
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        this.onmessage?.(event);
      };
      inside.importScripts = async (...scripts) => {
        for (const script of scripts) await load(script);
      };
      this.started = load(address);
    }
    postMessage(data) {
      this.started.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) })));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
