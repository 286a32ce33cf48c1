import { createHash } from 'node:crypto';
import { Parser } from 'htmlparser2';

export interface Reference {
  readonly attribute: 'href' | 'src' | 'srcset';
  readonly target: string;
}

/** What the checks and the CSP need to know of one HTML file. */
export interface HtmlFacts {
  readonly ids: ReadonlySet<string>;
  readonly duplicateIds: readonly string[];
  readonly references: readonly Reference[];
  /** CSP hashes of the inline scripts and styles that the build knows. */
  readonly scripts: readonly string[];
  readonly styles: readonly string[];
  /** What may not be on a page, in words. */
  readonly refused: readonly string[];
  readonly elements: number;
  readonly noindex: boolean;
}

const cspHash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Gatsby's inline scripts: each sets one value. */
const gatsbyScripts = [
  /^\/\*<!\[CDATA\[\*\/window\.pagePath="[^"]*";\/\*\]\]>\*\/$/,
  /^\s*window\.___chunkMapping="(?:[^"\\]|\\")*";\s*$/,
  /^window\.___webpackCompilationHash="[0-9a-f]+";$/,
];

const shorten = (text: string) => (text.length > 40 ? `${text.slice(0, 40)}…` : text);

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Reads one page. `headScript` is the site's own inline script (src/theme/headScript.ts). */
export function readHtml(html: string, headScript: string): HtmlFacts {
  const ids = new Set<string>();
  const duplicateIds: string[] = [];
  const references: Reference[] = [];
  const scripts: string[] = [];
  const styles: string[] = [];
  const refused: string[] = [];
  let elements = 0;
  let noindex = false;
  let inline: { readonly attributes: Readonly<Record<string, string>>; text: string } | undefined;
  const script = (type: string | undefined, text: string) => {
    // Data that no browser runs: the policy asks for no hash.
    if (type === 'application/ld+json') {
      if (!isJson(text)) refused.push(`the JSON-LD "${shorten(text)}" is no JSON`);
    } else if (type === undefined && (text === headScript || gatsbyScripts.some((one) => one.test(text))))
      scripts.push(cspHash(text));
    else refused.push(`the build does not know the inline script "${shorten(text)}"`);
  };
  const style = (identity: string | undefined, text: string) => {
    if (identity === 'gatsby-global-css') styles.push(cspHash(text));
    else refused.push(`the build does not know the inline style "${shorten(text)}"`);
  };
  const parser = new Parser({
    onopentag(name, attributes) {
      elements++;
      const { id, href, src, srcset } = attributes;
      if (id) {
        if (ids.has(id)) duplicateIds.push(id);
        ids.add(id);
      }
      // A link without an address comes from a component that was given none.
      if (href !== undefined || name === 'a') references.push({ attribute: 'href', target: href ?? '' });
      if (src !== undefined) references.push({ attribute: 'src', target: src });
      for (const one of (srcset ?? '').split(',')) {
        const target = one.trim().split(/\s+/)[0];
        if (target) references.push({ attribute: 'srcset', target });
      }
      if (name === 'meta' && attributes['name'] === 'robots' && /noindex/.test(attributes['content'] ?? ''))
        noindex = true;
      for (const attribute of Object.keys(attributes))
        if (attribute.startsWith('on')) refused.push(`the event attribute "${attribute}" on <${name}>`);
      if (name === 'script' && src !== undefined && !/^\/(?!\/)/.test(src))
        refused.push(`a script of another site: ${src}`);
      if ((name === 'script' && src === undefined) || name === 'style') inline = { attributes, text: '' };
    },
    ontext(text) {
      if (inline) inline.text += text;
    },
    onclosetag(name) {
      if (!inline) return;
      if (name === 'script') script(inline.attributes['type'], inline.text);
      else if (name === 'style') style(inline.attributes['data-identity'], inline.text);
      else return;
      inline = undefined;
    },
  });
  parser.write(html);
  parser.end();
  return { ids, duplicateIds, references, scripts, styles, refused, elements, noindex };
}
