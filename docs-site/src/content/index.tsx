import type { ReactElement, ReactNode } from 'react';
import { ja } from '../strings/ja';
import { Icon } from '../theme/Icon';
import { CodeBlock } from './CodeBlock';
import { CodeTabs } from './CodeTabs';
import { ValuesForm } from './ValuesForm';

interface HeadingProps {
  readonly id?: string;
  readonly children?: ReactNode;
}

const plain = (node: ReactNode): string => {
  if (typeof node === 'string' || typeof node === 'number') return String(node);
  if (Array.isArray(node)) return node.map(plain).join('');
  if (node && typeof node === 'object' && 'props' in node)
    return plain((node as ReactElement<{ children?: ReactNode }>).props.children);
  return '';
};

const heading = (Tag: 'h2' | 'h3' | 'h4') =>
  function Heading({ id, children }: HeadingProps): ReactElement {
    return (
      <Tag id={id} className="heading">
        {children}
        <a className="heading__link" href={`#${id}`} aria-label={ja.heading.link(plain(children))}>
          #
        </a>
      </Tag>
    );
  };

const kinds = { note: 'info', tip: 'tip', warning: 'warning', danger: 'danger' } as const;

function Admonition({
  type = 'note',
  title,
  children,
}: {
  type?: keyof typeof kinds;
  title?: string;
  children?: ReactNode;
}): ReactElement {
  if (!(type in kinds))
    throw new Error(`<Admonition type="${type}">: the type must be one of ${Object.keys(kinds).join(', ')}`);
  return (
    <aside className={`admonition admonition--${type}`}>
      <p className="admonition__title">
        <Icon name={kinds[type]} />
        {title ?? ja.admonition[type]}
      </p>
      <div className="admonition__body">{children}</div>
    </aside>
  );
}

function Steps({ children }: { readonly children?: ReactNode }): ReactElement {
  return <div className="steps">{children}</div>;
}

function Cards({ children }: { readonly children?: ReactNode }): ReactElement {
  return <div className="cards">{children}</div>;
}

function Card({ to, title, children }: { to: string; title: string; children?: ReactNode }): ReactElement {
  return (
    <article className="card">
      <h3 className="card__title">
        <a className="card__link" href={to}>
          {title}
        </a>
      </h3>
      <div className="card__text">{children}</div>
    </article>
  );
}

function Figure({
  src,
  alt,
  caption,
  width,
  height,
}: {
  src: string;
  alt: string;
  caption?: string;
  width?: string;
  height?: string;
}): ReactElement {
  if (!alt) throw new Error(`<Figure src="${src}">: alt is missing`);
  return (
    <figure className="figure">
      <img src={src} alt={alt} width={width} height={height} loading="lazy" />
      {caption ? <figcaption>{caption}</figcaption> : null}
    </figure>
  );
}

function Table(props: { readonly children?: ReactNode }): ReactElement {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a table that scrolls must be reachable by keyboard
    <div className="table" tabIndex={0}>
      <table>{props.children}</table>
    </div>
  );
}

/** Components of guides, including replacements for Markdown elements. */
export const components = {
  h2: heading('h2'),
  h3: heading('h3'),
  h4: heading('h4'),
  table: Table,
  CodeBlock,
  CodeTabs,
  Admonition,
  Steps,
  Cards,
  Card,
  Figure,
  ValuesForm,
};
