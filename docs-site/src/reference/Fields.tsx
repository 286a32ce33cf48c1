import type { ReactElement } from 'react';
import { apiWords } from '../strings/api';
import type { View } from './context';
import { Text } from './Text';
import type { Choice, Fact, Field, Shape } from './types';

/** Lists with more fields are closed at first, so that the reader sees the outline. */
const openUpTo = 12;

function Facts({
  view,
  facts,
}: {
  readonly view: View;
  readonly facts: readonly Fact[];
}): ReactElement | null {
  if (facts.length === 0) return null;
  return (
    <p className="api-facts">
      {facts.map(({ label, values }) => (
        <span key={label + values[0]} className="api-fact">
          {label}
          {values.map((value) => {
            const href = view.addressOf(value);
            return href ? (
              <a key={value} href={href}>
                <code>{value}</code>
              </a>
            ) : (
              <code key={value}>{value}</code>
            );
          })}
        </span>
      ))}
    </p>
  );
}

const flags = ['deprecated', 'readOnly', 'writeOnly'] as const;

export function Flags({
  required,
  shape,
}: {
  readonly required?: boolean;
  readonly shape: Shape;
}): ReactElement {
  return (
    <>
      {required ? <span className="api-flag api-flag--required">{apiWords.required}</span> : null}
      {flags.map((flag) =>
        shape[flag] ? (
          <span key={flag} className={`api-flag api-flag--${flag}`}>
            {apiWords[flag]}
          </span>
        ) : null,
      )}
    </>
  );
}

/** Number of fields inside a shape. Variants do not count, because they are folded separately. */
const countOf = (shape: Shape): number => shape.fields.length + (shape.item ? countOf(shape.item) : 0);

function Choices({
  view,
  choices,
  depth,
}: {
  readonly view: View;
  readonly choices: readonly Choice[];
  readonly depth: number;
}): ReactElement {
  return (
    <>
      {choices.map(({ kind, variants, discriminator }) => (
        <div key={variants[0]?.anchor} className="api-choice">
          <p className="api-choice__kind">
            {apiWords.variants[kind]}
            {discriminator ? ` (${apiWords.discriminator(discriminator)})` : null}
          </p>
          {variants.map(({ label, anchor, shape }, index) => (
            <details key={anchor} id={anchor} className="api-variant" open={index === 0 && depth === 0}>
              <summary className="api-variant__label">
                {label} <span className="api-type">{shape.type}</span>
              </summary>
              <ShapeBody view={view} shape={shape} depth={depth + 1} />
            </details>
          ))}
        </div>
      ))}
    </>
  );
}

/** End of a recursive schema: a link to the field that it repeats. */
function Same({ shape }: { readonly shape: Shape }): ReactElement | null {
  if (!shape.same) return null;
  return (
    <p className="api-same">
      <a href={`#${shape.same.anchor}`}>{apiWords.same(shape.same.name)}</a>
    </p>
  );
}

/** Fields, elements and variants of a value, without its name and type. */
function Inside({
  view,
  shape,
  depth,
}: {
  readonly view: View;
  readonly shape: Shape;
  readonly depth: number;
}): ReactElement {
  return (
    <>
      {shape.fields.length > 0 ? <Fields view={view} fields={shape.fields} depth={depth} /> : null}
      {shape.closed && shape.fields.length > 0 ? <p className="api-closed">{apiWords.closed}</p> : null}
      <Choices view={view} choices={shape.choices} depth={depth} />
      {shape.item ? <Item view={view} item={shape.item} depth={depth} /> : null}
    </>
  );
}

/** Elements of an array: only details that the type of the array does not show. */
function Item({
  view,
  item,
  depth,
}: {
  readonly view: View;
  readonly item: Shape;
  readonly depth: number;
}): ReactElement {
  const hasOwn = item.description !== undefined || item.facts.length > 0 || item.same !== undefined;
  return (
    <>
      {hasOwn ? (
        <div className="api-item">
          <p className="api-item__head">
            {apiWords.items} <span className="api-type">{item.type}</span>
          </p>
          <Text view={view} text={item.description} className="api-field__text" />
          <Facts view={view} facts={item.facts} />
          <Same shape={item} />
        </div>
      ) : null}
      <Inside view={view} shape={item} depth={depth} />
    </>
  );
}

/** A body or a variant of a body: its description and limits, then its fields. */
export function ShapeBody({
  view,
  shape,
  depth = 0,
}: {
  readonly view: View;
  readonly shape: Shape;
  readonly depth?: number;
}): ReactElement {
  return (
    <>
      <Text view={view} text={shape.description} className="api-field__text" />
      <Facts view={view} facts={shape.facts} />
      <Same shape={shape} />
      <Inside view={view} shape={shape} depth={depth} />
    </>
  );
}

export function Fields({
  view,
  fields,
  depth = 0,
}: {
  readonly view: View;
  readonly fields: readonly Field[];
  readonly depth?: number;
}): ReactElement {
  return (
    <ul className="api-fields">
      {fields.map(({ name, anchor, required, shape }) => {
        const count = countOf(shape);
        const inside = <Inside view={view} shape={shape} depth={depth + 1} />;
        return (
          <li
            key={anchor}
            id={anchor}
            className={shape.deprecated ? 'api-field api-field--deprecated' : 'api-field'}
          >
            <p className="api-field__head">
              <a className="api-field__name" href={`#${anchor}`}>
                {name}
              </a>{' '}
              <span className="api-type">{shape.type}</span> <Flags required={required} shape={shape} />
            </p>
            <Text view={view} text={shape.description} className="api-field__text" />
            <Facts view={view} facts={shape.facts} />
            <Same shape={shape} />
            {count > 0 ? (
              <details className="api-nested" open={depth === 0 && count <= openUpTo}>
                <summary>{apiWords.children(count)}</summary>
                {inside}
              </details>
            ) : (
              inside
            )}
          </li>
        );
      })}
    </ul>
  );
}
