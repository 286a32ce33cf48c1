import type { ReactElement } from 'react';
import { apiWords } from '../strings/api';
import { ja } from '../strings/ja';
import { Answers, BodyView } from './Answers';
import type { View } from './context';
import { Fields } from './Fields';
import type { Related } from './related';
import { Samples } from './SamplePanel';
import { shownParameters, signatureAnchor } from './samples';
import { Text } from './Text';
import type { Operation, ParameterPlace } from './types';

const scopesPage = '/docs/introduction/authentication';
const places: readonly ParameterPlace[] = ['path', 'query', 'header', 'cookie'];
/** Longer lists of calls are closed at first. */
const openUpTo = 6;

export function Method({ method }: { readonly method: string }): ReactElement {
  return <span className={`api-method api-method--${method}`}>{method.toUpperCase()}</span>;
}

/** Header that contains a callback's signature, with a link to the calculator if the document has callbacks. */
function SchemeName({ view, name }: { readonly view: View; readonly name: string }): ReactElement {
  const { input } = view;
  const home = [input, ...input.others].find((one) => one.name === 'cws_notification');
  const code = <code>{name}</code>;
  if (!home || !input.document.webhooks) return code;
  return <a href={`${home.route === input.route ? '' : home.route}#${signatureAnchor}`}>{code}</a>;
}

function Meta({ view, operation }: { readonly view: View; readonly operation: Operation }): ReactElement {
  const { id, kind, security, bodyLimit, path } = operation;
  const schemes = view.input.document.components?.['securitySchemes'] ?? {};
  return (
    <dl className="api-meta">
      {security.map(({ scheme, scopes }) => (
        <div key={scheme}>
          <dt>{scopes.length > 0 ? apiWords.scope : apiWords.authentication}</dt>
          <dd>
            {scopes.length > 0 ? (
              scopes.map((scope) => (
                <a key={scope} href={scopesPage}>
                  <code>{scope}</code>
                </a>
              ))
            ) : (
              <SchemeName
                view={view}
                name={(schemes[scheme] as { name?: string } | undefined)?.name ?? scheme}
              />
            )}
          </dd>
        </div>
      ))}
      {security.length === 0 && kind === 'call' ? (
        <div>
          <dt>{apiWords.scope}</dt>
          <dd>{apiWords.noScope}</dd>
        </div>
      ) : null}
      <div>
        <dt>{apiWords.operationId}</dt>
        <dd>
          <code>{id}</code>
        </dd>
      </div>
      {kind === 'callback' && view.addressOf(path) ? (
        <div>
          <dt>{apiWords.registered}</dt>
          <dd>
            <a href={view.addressOf(path)}>
              <code>{path}</code>
            </a>
          </dd>
        </div>
      ) : null}
      {bodyLimit ? (
        <div>
          <dt>{apiWords.request}</dt>
          <dd>{apiWords.bodyLimit(bodyLimit)}</dd>
        </div>
      ) : null}
    </dl>
  );
}

/** Links from a call to the callbacks that follow it, or back. */
function RelatedList({
  title,
  links,
}: {
  readonly title: string;
  readonly links: readonly Related[];
}): ReactElement | null {
  if (links.length === 0) return null;
  return (
    <details className="api-related" open={links.length <= openUpTo}>
      <summary>
        {title} ({links.length})
      </summary>
      <ul className="api-related__list">
        {links.map(({ id, href, summary, when }) => (
          <li key={id}>
            <a href={href}>{summary}</a>
            {when.length > 0 ? <span className="api-type">{when.join(', ')}</span> : null}
          </li>
        ))}
      </ul>
    </details>
  );
}

function Part({
  id,
  title,
  children,
}: {
  readonly id?: string;
  readonly title: string;
  readonly children: React.ReactNode;
}): ReactElement {
  return (
    <>
      <h4 id={id} className="api-part">
        {title}
      </h4>
      {children}
    </>
  );
}

export function OperationView({
  view,
  operation,
}: {
  readonly view: View;
  readonly operation: Operation;
}): ReactElement {
  const { id, kind, method, path, summary, description, deprecated, request, answers } = operation;
  const isCall = kind === 'call';
  const { related } = view;
  const parameters = shownParameters(operation);
  return (
    <section className="api-operation" aria-labelledby={id}>
      <div className="api-operation__lead">
        <h3 id={id} className="heading api-operation__title">
          {summary}
          <a className="heading__link" href={`#${id}`} aria-label={ja.heading.link(summary)}>
            #
          </a>
        </h3>
        <p className="api-endpoint">
          <Method method={method} /> <span className="api-path">{path}</span>
          {deprecated ? <span className="api-flag api-flag--deprecated">{apiWords.deprecated}</span> : null}
        </p>
        <Meta view={view} operation={operation} />
        <Text view={view} text={description} className="api-text" />
        <RelatedList
          title={isCall ? apiWords.callbacks : apiWords.causes}
          links={isCall ? related.callbacksOf(id) : related.callsOf(id)}
        />
      </div>
      <Samples view={view} operation={operation} />
      <div className="api-operation__detail">
        <button
          type="button"
          className="api-expand"
          data-expand=".api-operation__detail"
          aria-pressed="false"
        >
          {apiWords.expand}
        </button>
        {places.map((place) => {
          const fields = parameters.filter((one) => one.place === place).map((one) => one.field);
          const title = isCall ? apiWords.parameters[place] : apiWords.receivedHeaders;
          return fields.length > 0 ? (
            <Part key={place} title={title}>
              <Fields view={view} fields={fields} />
            </Part>
          ) : null;
        })}
        {request ? (
          <Part id={`${id}.request`} title={isCall ? apiWords.request : apiWords.received}>
            <Text view={view} text={request.description} className="api-text" />
            {request.bodies.map((body, index) => (
              <BodyView key={body.mediaType} view={view} body={body} isFirst={index === 0} />
            ))}
          </Part>
        ) : null}
        <Part title={isCall ? apiWords.responses : apiWords.answers}>
          <Answers view={view} answers={answers} />
        </Part>
      </div>
    </section>
  );
}
