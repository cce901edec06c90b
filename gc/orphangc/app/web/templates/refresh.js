// Fetches the page again and changes only what differs: scroll position, open details, focus and
// selection stay. Without this script a reload shows the same.
"use strict";

(() => {
  const every = 1000 * Number(document.documentElement.dataset.refresh);
  const stale = document.getElementById("stale");
  let timer = 0;

  function change(old, fresh) {
    if (old.isEqualNode(fresh)) return;
    if (old.nodeName !== fresh.nodeName || old.id !== fresh.id) {
      old.replaceWith(document.importNode(fresh, true));
    } else if (old.nodeType !== Node.ELEMENT_NODE) {
      old.data = fresh.data;
    } else {
      changeAttributes(old, fresh);
      changeChildren(old, fresh);
    }
  }

  function changeAttributes(old, fresh) {
    for (const { name } of [...old.attributes]) {
      if (name !== "open" && !fresh.hasAttribute(name)) old.removeAttribute(name);
    }
    for (const { name, value } of fresh.attributes) {
      if (name !== "open" && old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
  }

  // An element with an id is never moved or made again, as that would take the focus from it.
  function changeChildren(old, fresh) {
    const named = new Map([...old.children].filter((each) => each.id).map((each) => [each.id, each]));
    const left = new Set([...fresh.children].map((each) => each.id));
    for (const [id, each] of named) if (!left.has(id)) each.remove();
    let at = old.firstChild;
    for (const each of [...fresh.childNodes]) {
      const same = each.id ? named.get(each.id) : at && !at.id ? at : undefined;
      if (same === undefined) {
        old.insertBefore(document.importNode(each, true), at);
        continue;
      }
      while (at && at !== same && !at.id) at = removed(at);
      if (at === same) at = at.nextSibling;
      else old.insertBefore(same, at);
      change(same, each);
    }
    while (at) at = removed(at);
  }

  function removed(node) {
    const next = node.nextSibling;
    node.remove();
    return next;
  }

  function show(fresh) {
    const sheet = (page) => page.querySelector("link[rel=stylesheet]").getAttribute("href");
    if (sheet(fresh) !== sheet(document)) location.reload(); // another version of the daemon
    document.title = fresh.title;
    for (const part of ["main", "as-of"]) {
      change(document.getElementById(part), fresh.getElementById(part));
    }
  }

  function refresh() {
    if (document.hidden) return; // until it is looked at again
    const request = new XMLHttpRequest(); // its document is parsed without a sink of text
    request.open("GET", location.href);
    request.responseType = "document";
    request.timeout = every;
    request.onloadend = () => {
      const fresh = request.status === 200 ? request.response : null;
      if (fresh) show(fresh);
      stale.hidden = fresh !== null;
      clearTimeout(timer);
      timer = setTimeout(refresh, every);
    };
    request.send();
  }

  document.addEventListener("visibilitychange", refresh);
  timer = setTimeout(refresh, every);
})();
