import { ContentError } from './front-matter.ts';
import type { Node } from './mdx.ts';
import { placeholder } from './values.ts';

/** Components that guides may use (src/content), with their attributes; `true` marks required attributes. */
export const guideComponents: Readonly<Record<string, Readonly<Record<string, boolean>>>> = {
  Admonition: { type: false, title: false },
  Card: { to: true, title: true },
  Cards: {},
  CodeTabs: {},
  Figure: { src: true, alt: true, caption: false, width: false, height: false },
  Steps: {},
  ValuesForm: {},
};

/** HTML and SVG elements that guides may use: they can neither load nor run anything. */
const elements = new Set([
  ...['details', 'summary', 'figure', 'figcaption'],
  ...['svg', 'title', 'g', 'rect', 'path', 'text'],
]);
const forbiddenAttribute = /^(?:on.*|style|ref|key|dangerouslySetInnerHTML)$/i;

interface Attribute {
  readonly type: string;
  readonly name?: string;
  readonly value?: unknown;
  readonly position?: Node['position'];
}

/**
 * Rejects everything that could run on the page or in the build (HTML, expressions, imports), and placeholders
 * outside code blocks. Throws a ContentError.
 */
export function checkGuide(file: string, body: string, tree: Node): void {
  const codeLines = new Set<number>();
  const visit = (node: Node, check: (node: Node) => void) => {
    check(node);
    for (const child of node.children ?? []) visit(child, check);
  };
  visit(tree, ({ type, position }) => {
    if (type !== 'code' || !position) return;
    for (let line = position.start.line + 1; line < position.end.line; line++) codeLines.add(line);
  });
  for (const [index, text] of body.split('\n').entries()) {
    const found = codeLines.has(index + 1) ? undefined : text.match(placeholder)?.[0];
    if (found)
      throw new ContentError(file, index + 1, `${found}: reader values are allowed in code blocks only`);
  }
  visit(tree, (node) => checkNode(file, node));
}

function checkNode(file: string, node: Node): void {
  const line = node.position?.start.line;
  if (/^mdxJsx(?:Flow|Text)Element$/.test(node.type)) checkElement(file, node);
  if (/^mdx(?:Flow|Text)Expression$/.test(node.type)) {
    const text = node.value?.replace(/\s+/g, ' ');
    throw new ContentError(
      file,
      line,
      `{${text}}: an expression is not allowed in a guide (write \\{ for the character, or use code)`,
    );
  }
  if (node.type === 'mdxjsEsm')
    throw new ContentError(file, line, 'import and export are not allowed in a guide');
}

function checkElement(file: string, node: Node): void {
  const line = node.position?.start.line;
  const name = node.name ?? '';
  const known = Object.hasOwn(guideComponents, name) ? guideComponents[name] : undefined;
  if (!known && !elements.has(name)) {
    throw new ContentError(
      file,
      line,
      `<${name}> is not allowed in a guide (components: ${Object.keys(guideComponents).join(', ')}; elements: ${[...elements].join(', ')})`,
    );
  }
  const given = new Set<string>();
  for (const attribute of (node.attributes ?? []) as Attribute[]) {
    const at = attribute.position?.start.line ?? line;
    const { name: key, value } = attribute;
    if (key === undefined) throw new ContentError(file, at, `an expression is not allowed on <${name}>`);
    if (known ? !Object.hasOwn(known, key) : forbiddenAttribute.test(key)) {
      const allowed = known ? ` (known: ${Object.keys(known).join(', ') || 'none'})` : '';
      throw new ContentError(file, at, `"${key}" is not allowed on <${name}>${allowed}`);
    }
    if (typeof value !== 'string')
      throw new ContentError(file, at, `"${key}" of <${name}> must be a text in quotes`);
    if (value.trim() !== '') given.add(key);
  }
  for (const [key, needed] of Object.entries(known ?? {})) {
    if (needed && !given.has(key)) throw new ContentError(file, line, `"${key}" is missing on <${name}>`);
  }
}
