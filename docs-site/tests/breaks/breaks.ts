/**
 * A seeded break: a fault in the built site, for example no scripts or no styles. A check that does not fail under any
 * break proves nothing.
 */
export interface Break {
  readonly name: string;
  /** Returns the changed content of a text file of the build; undefined if the file is unchanged. */
  readonly change?: (file: string, text: string) => string | undefined;
  /** Runs in every page before its scripts. */
  readonly before?: string;
  /** The CSP of every page allows any inline script. */
  readonly anyInline?: true;
  /** The pages cannot be hydrated, so `hydrated` returns at once. */
  readonly noHydration?: true;
}

const isPage = (file: string) => file.endsWith('.html');

const inPages =
  (change: (text: string) => string) =>
  (file: string, text: string): string | undefined =>
    isPage(file) ? change(text) : undefined;

const inStyles = (change: (css: string) => string) => (file: string, text: string) => {
  if (file.endsWith('.css')) return change(text);
  if (!isPage(file)) return undefined;
  return text.replace(
    /(<style[^>]*>)([\s\S]*?)(<\/style>)/g,
    (_, open, css, close) => open + change(css) + close,
  );
};

/** Script that ignores listeners of these events. */
const ignoreEvents = (...events: readonly string[]): string => `{
  const ignored = new Set(${JSON.stringify(events)});
  const add = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function (type, ...rest) {
    if (!ignored.has(type)) return add.call(this, type, ...rest);
  };
}`;

/** Script that removes matching attributes from all elements. */
const without = (pattern: RegExp): string => `{
  const pattern = ${pattern};
  const strip = (one) => {
    for (const name of one.getAttributeNames?.() ?? []) if (pattern.test(name)) one.removeAttribute(name);
  };
  new MutationObserver((changes) => {
    for (const { target, addedNodes } of changes) {
      strip(target);
      for (const added of addedNodes) for (const one of [added, ...(added.querySelectorAll?.('*') ?? [])]) strip(one);
    }
  }).observe(document, { subtree: true, childList: true, attributes: true });
}`;

const japanese = /[\u3041-\u30ff\u4e00-\u9fff]{2,}/g;

export const breaks: readonly Break[] = [
  {
    name: 'pages are empty',
    noHydration: true,
    change: inPages(() => '<!doctype html><html><head></head><body></body></html>'),
  },
  { name: 'no styles', change: inStyles(() => '') },
  {
    name: 'media rules do not apply',
    change: inStyles((css) => css.replaceAll('@media', '@media not all,not ')),
  },
  {
    name: 'no scripts',
    noHydration: true,
    change: inPages((text) => text.replace(/<script[\s\S]*?<\/script>/g, '')),
  },
  { name: 'click events are ignored', before: ignoreEvents('click') },
  { name: 'key events are ignored', before: ignoreEvents('keydown', 'keyup', 'keypress') },
  {
    name: 'pointer events are ignored',
    before: ignoreEvents(
      ...['mouseenter', 'mouseleave', 'mouseover', 'mouseout', 'mousedown', 'mouseup'],
      ...[
        'pointerenter',
        'pointerleave',
        'pointerover',
        'pointerout',
        'pointerdown',
        'pointerup',
        'touchstart',
      ],
    ),
  },
  { name: 'focus events are ignored', before: ignoreEvents('focus', 'blur', 'focusin', 'focusout') },
  { name: 'input events are ignored', before: ignoreEvents('input', 'change', 'submit', 'toggle') },
  {
    name: 'scroll events are ignored',
    before: `${ignoreEvents('scroll')} window.IntersectionObserver = class { observe() {} unobserve() {} disconnect() {} };`,
  },
  {
    name: 'nothing scrolls',
    before: `for (const one of [Element.prototype, window]) for (const name of ['scrollTo', 'scrollBy', 'scrollIntoView', 'scroll']) one[name] = () => {};`,
  },
  { name: 'history events are ignored', before: ignoreEvents('popstate', 'hashchange') },
  {
    name: 'hashes are removed',
    before:
      'document.addEventListener("DOMContentLoaded", () => history.replaceState(null, "", location.pathname + location.search));',
  },
  {
    name: 'nothing is stored',
    before: 'Storage.prototype.setItem = () => {}; Storage.prototype.getItem = () => null;',
  },
  {
    name: 'everything is stored',
    before:
      'Storage.prototype.removeItem = () => {}; { const set = Storage.prototype.setItem; document.addEventListener("input", (event) => set.call(localStorage, "leak", event.target.value), true); }',
  },
  {
    name: 'nothing can be fetched',
    before:
      'window.fetch = () => Promise.reject(new TypeError("seeded")); XMLHttpRequest.prototype.send = function () { this.dispatchEvent(new Event("error")); };',
  },
  {
    name: 'nothing can be copied',
    before: 'navigator.clipboard.writeText = () => Promise.reject(new Error("seeded"));',
  },
  {
    name: 'media queries never match',
    before:
      'window.matchMedia = (media) => ({ media, matches: false, addEventListener() {}, removeEventListener() {}, addListener() {}, removeListener() {} });',
  },
  { name: 'no workers', before: 'window.Worker = class { constructor() { throw new Error("seeded"); } };' },
  {
    name: 'no WebCrypto',
    before:
      'Object.defineProperty(crypto, "subtle", { value: { importKey: () => Promise.reject(new Error("seeded")) } });',
  },
  { name: 'no attributes for assistive technology', before: without(/^(?:aria-.*|role|alt|lang|tabindex)$/) },
  { name: 'no data attributes of the fragments', before: without(/^data-(?!theme|ready|dropdown)/) },
  { name: 'no anchors', change: inPages((text) => text.replace(/ id="(?!___gatsby|gatsby-)[^"]*"/g, '')) },
  {
    name: 'links lead elsewhere',
    before: `document.addEventListener('DOMContentLoaded', () => { for (const one of document.links) one.setAttribute('href', '/moved' + (one.getAttribute('href') ?? '')); });`,
  },
  {
    name: 'Japanese text is replaced',
    change: (file, text) =>
      /\.(?:html|js|json|txt|md|xml)$/.test(file) ? text.replace(japanese, '語') : undefined,
  },
  {
    name: 'Latin text is replaced',
    change: inPages((text) =>
      text.replace(
        /(>[^<]*)\b(?:Authorization|Copyright|Try again|An error occurred|This page crashed\.|deviceId|transactionId)\b/g,
        '$1Seeded',
      ),
    ),
  },
  { name: 'the policy allows inline scripts', anyInline: true },
  {
    name: 'a page logs errors',
    change: inPages((text) =>
      text.replace(/<body[^>]*>/, '$&<img src="https://elsewhere.invalid/x.png"><button></button>'),
    ),
  },
  {
    name: 'a page throws',
    before:
      'document.addEventListener("DOMContentLoaded", () => setTimeout(() => { throw new Error("seeded"); }));',
  },
  {
    name: 'a page is wide',
    change: inPages((text) =>
      text.replace(/<main[^>]*>/, '$&<div style="inline-size:3000px;block-size:1px">&nbsp;</div>'),
    ),
  },
  {
    name: 'everything is laid out and measured',
    before:
      'setInterval(() => { for (const one of document.querySelectorAll("main *")) { one.getBoundingClientRect(); void one.scrollWidth; } }, 200);',
  },
  {
    name: 'everything is shown',
    before:
      'document.addEventListener("DOMContentLoaded", () => { const one = new CSSStyleSheet(); one.replaceSync("[hidden], dialog, ul, nav, details > * { display: block !important; visibility: visible !important; opacity: 1 !important; }"); document.adoptedStyleSheets.push(one); });',
  },
  {
    name: 'scripts are heavy',
    change: (file, text) => (/\/app-[^/]*\.js$/.test(file) ? `${text}\n//${randomText(400_000)}` : undefined),
  },
  {
    name: 'pages are heavy',
    change: inPages((text) =>
      text.replace('</main>', `${'<i></i>'.repeat(30_000)}<p>${randomText(400_000)}</p></main>`),
    ),
  },
  {
    name: 'the index of the search is heavy',
    change: (file, text) =>
      file === '/search.json' ? text + ' '.repeat(1) + randomText(200_000) : undefined,
  },
  {
    name: 'page data are heavy',
    change: (file, text) =>
      file.endsWith('page-data.json') ? text.replace(/\}$/, `,"seeded":"${randomText(30_000)}"}`) : undefined,
  },
  {
    name: 'no metadata',
    change: inPages((text) =>
      text.replace(/<(?:meta|title|link rel="canonical")[^>]*>(?:[^<]*<\/title>)?/g, ''),
    ),
  },
  {
    name: 'lists of pages are empty',
    change: (file) => (/\.(?:xml|txt|md|yaml)$/.test(file) ? ' ' : undefined),
  },
];

/** Pseudo-random text that does not compress; the same in each run. */
function randomText(length: number): string {
  let state = 1;
  let text = '';
  while (text.length < length) {
    state = (state * 48_271) % 2_147_483_647;
    text += state.toString(36);
  }
  return text.slice(0, length);
}
