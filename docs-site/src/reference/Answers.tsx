import { Fragment, type ReactElement } from 'react';
import { apiWords } from '../strings/api';
import type { View } from './context';
import { reasonOf } from './describe';
import { Fields, ShapeBody } from './Fields';
import { pretty } from './literals';
import { Text } from './Text';
import type { Answer, Body, Header, Json } from './types';

/** Formats a body with one field in one line, as error bodies have. */
const compact = (value: Json): string => pretty(value).replace(/^\{\n {2}([^\n]*)\n\}$/, '{ $1 }');

function Headers({ headers }: { readonly headers: readonly Header[] }): ReactElement | null {
  const shared = headers.filter((one) => one.shared);
  if (shared.length === 0) return null;
  return (
    <p className="api-headers">
      {apiWords.headers}
      {shared.map((one) => (
        <a
          key={one.name}
          href={`#${one.shared}`}
          className={one.required ? 'api-headers__name' : 'api-headers__name api-headers__name--optional'}
        >
          {one.name}
        </a>
      ))}
    </p>
  );
}

/** Fields of a body, or its type if it has no fields. */
export function BodyView({
  view,
  body,
  isFirst,
}: {
  readonly view: View;
  readonly body: Body;
  readonly isFirst: boolean;
}): ReactElement {
  return (
    <>
      <p className="api-media" id={isFirst ? undefined : body.anchor}>
        <code>{body.mediaType}</code> <span className="api-type">{body.shape.type}</span>
      </p>
      <ShapeBody view={view} shape={body.shape} />
    </>
  );
}

function AnswerView({ view, answer }: { readonly view: View; readonly answer: Answer }): ReactElement {
  const { status, anchor, description, headers, bodies, next } = answer;
  const isError = /^[45]/.test(status);
  const own = headers.filter((one) => !one.shared).map((one) => one.field);
  const inside = (
    <>
      <Headers headers={headers} />
      {own.length > 0 ? <Fields view={view} fields={own} depth={1} /> : null}
      {bodies.map((body, index) => (
        <BodyView key={body.mediaType} view={view} body={body} isFirst={index === 0} />
      ))}
      {isError
        ? bodies.flatMap((body) =>
            body.examples.map((example) => (
              <Fragment key={body.mediaType + example.name}>
                <p className="api-answer__case">{example.name}</p>
                {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a block that scrolls must be reachable by keyboard */}
                <pre className="api-snippet" tabIndex={0}>
                  {compact(example.value)}
                </pre>
              </Fragment>
            )),
          )
        : null}
    </>
  );
  const hasInside = headers.length > 0 || bodies.length > 0;
  return (
    <li id={anchor} className={`api-answer api-answer--${status[0]}`}>
      <p className="api-answer__head">
        <a className="api-status" href={`#${anchor}`}>
          {status}
        </a>{' '}
        {reasonOf(status)}
      </p>
      <Text view={view} text={description} className="api-answer__text" />
      {next.map((one) => {
        const href = view.addressOf(one.operationId);
        return href ? (
          <p key={one.operationId} className="api-next">
            {apiWords.next}: <a href={href}>{one.description ?? one.operationId}</a>
          </p>
        ) : null;
      })}
      {hasInside ? (
        <details className="api-nested" open={!isError}>
          <summary>
            {bodies.length === 0 ? apiWords.headers : headers.length === 0 ? apiWords.body : apiWords.detail}
          </summary>
          {inside}
        </details>
      ) : null}
    </li>
  );
}

export function Answers({
  view,
  answers,
}: {
  readonly view: View;
  readonly answers: readonly Answer[];
}): ReactElement {
  return (
    <ul className="api-answers">
      {answers.map((answer) => (
        <AnswerView key={answer.status} view={view} answer={answer} />
      ))}
    </ul>
  );
}
