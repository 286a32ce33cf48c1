import { createHash } from 'node:crypto';
import { Parser } from 'htmlparser2';

export interface Reference {
  readonly attribute: 'href' | 'src' | 'srcset';
  readonly target: string;
}

/** Facts about one HTML file, for the checks and the CSP. */
export interface HtmlFacts {
  readonly ids: ReadonlySet<string>;
  readonly duplicateIds: readonly string[];
  readonly references: readonly Reference[];
  /** CSP hashes of the allowed inline scripts and styles. */
  readonly scripts: readonly string[];
  readonly styles: readonly string[];
  /** Descriptions of content that pages must not have. */
  readonly violations: readonly string[];
  readonly elements: number;
  readonly noindex: boolean;
}

const cspHash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Gatsby's inline scripts. Each sets one value. */
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
  const violations: string[] = [];
  let elements = 0;
  let noindex = false;
  let inline: { readonly attributes: Readonly<Record<string, string>>; text: string } | undefined;
  const script = (type: string | undefined, text: string) => {
    // Browsers do not run JSON-LD, so the CSP needs no hash.
    if (type === 'application/ld+json') {
      if (!isJson(text)) violations.push(`the JSON-LD "${shorten(text)}" is not JSON`);
    } else if (type === undefined && (text === headScript || gatsbyScripts.some((one) => one.test(text))))
      scripts.push(cspHash(text));
    else violations.push(`the inline script "${shorten(text)}" is not allowed`);
  };
  const style = (identity: string | undefined, text: string) => {
    if (identity === 'gatsby-global-css') styles.push(cspHash(text));
    else violations.push(`the inline style "${shorten(text)}" is not allowed`);
  };
  const parser = new Parser({
    onopentag(name, attributes) {
      elements++;
      const { id, href, src, srcset } = attributes;
      if (id) {
        if (ids.has(id)) duplicateIds.push(id);
        ids.add(id);
      }
      // An <a> without href comes from a component without an address.
      if (href !== undefined || name === 'a') references.push({ attribute: 'href', target: href ?? '' });
      if (src !== undefined) references.push({ attribute: 'src', target: src });
      for (const one of (srcset ?? '').split(',')) {
        const target = one.trim().split(/\s+/)[0];
        if (target) references.push({ attribute: 'srcset', target });
      }
      if (name === 'meta' && attributes['name'] === 'robots' && /noindex/.test(attributes['content'] ?? ''))
        noindex = true;
      for (const attribute of Object.keys(attributes))
        if (attribute.startsWith('on'))
          violations.push(`the event attribute "${attribute}" on <${name}> is not allowed`);
      if (name === 'script' && src !== undefined && !/^\/(?!\/)/.test(src))
        violations.push(`the script is from another site: ${src}`);
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
  return { ids, duplicateIds, references, scripts, styles, violations, elements, noindex };
}
