// Browsers start no worker from a file: URL. Opened from a folder, the site searches in a hidden frame instead, which
// speaks as a worker does: nothing is fetched from anywhere. Served over HTTP, this does nothing.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = []; // what is said before the frame listens
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.heard = (message) => this.dispatchEvent(new MessageEvent("message", { data: message }));
      this.frame.ready = () => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach((message) => this.postMessage(message));
      };
      document.body.appendChild(this.frame);
      const inside = this.frame.contentWindow.document;
      const script = (text, source = "") => `<script${source && ` src="${source}"`}>${text}</` + "script>";
      inside.open();
      inside.write(
        script("postMessage = (message) => frameElement.heard(message)") +
          script("", url) +
          script("frameElement.ready()"),
      );
      inside.close();
    }
    postMessage(message) {
      if (this.waiting) this.waiting.push(message);
      else this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data: message }));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
