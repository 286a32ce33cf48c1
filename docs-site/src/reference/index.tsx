import type { ReactElement } from 'react';
import { ValuesForm } from '../content/ValuesForm';
import { joinLines, renderMarkdown } from '../markdown';
import { apiWords } from '../strings/api';
import { ja } from '../strings/ja';
import { Icon } from '../theme/Icon';
import type { View } from './context';
import { describeApi, type Group, groupsOf, partsOf, sharedHeadersAnchor, sharedHeadersOf } from './describe';
import { Fields } from './Fields';
import { operationsOf } from './model';
import { Method, OperationView } from './OperationView';
import { linkCode, namedAddresses, relations } from './related';
import { Signature } from './Signature';
import { Text } from './Text';
import type { ApiInput, ApiPage } from './types';

export { describeApi };

const changelogPage = '/information';

/** Path of the OpenAPI document (build/outputs.ts). */
const downloadOf = (route: string, format: 'yaml' | 'json'): string => `${route}.${format}`;

function viewOf(input: ApiInput): View {
  const addresses = namedAddresses(input);
  return {
    input,
    related: relations(input),
    html: (text) =>
      linkCode(renderMarkdown(joinLines(text), { heading: (level) => level + 1 }).trim(), addresses),
    addressOf: (name) => addresses.get(name),
  };
}

function Heading({
  id,
  title,
  note,
}: {
  readonly id: string;
  readonly title: string;
  readonly note?: string | undefined;
}): ReactElement {
  return (
    <h2 id={id} className="heading api-heading">
      {title}
      {note ? <span className="api-heading__note">{note}</span> : null}
      <a className="heading__link" href={`#${id}`} aria-label={ja.heading.link(title)}>
        #
      </a>
    </h2>
  );
}

function About({ input }: { readonly input: ApiInput }): ReactElement {
  const hasCalls = operationsOf(input.document).some((one) => one.kind === 'call');
  return (
    <div className="api-about">
      <dl className="api-about__facts">
        <div>
          <dt>{apiWords.version}</dt>
          <dd>
            {input.document.info.version} <a href={changelogPage}>{apiWords.changelog}</a>
          </dd>
        </div>
        {hasCalls ? (
          <div>
            <dt>{apiWords.base}</dt>
            <dd
              className="api-about__url"
              // biome-ignore lint/security/noDangerouslySetInnerHtml: made and escaped by build/highlight.ts
              dangerouslySetInnerHTML={{ __html: input.highlight('{{apiUrl}}', 'http') }}
            />
          </div>
        ) : null}
        <div>
          <dt>{apiWords.downloads}</dt>
          <dd className="api-about__downloads">
            {(['yaml', 'json'] as const).map((format) => (
              <a key={format} href={downloadOf(input.route, format)} download>
                <Icon name="download" />
                {format.toUpperCase()}
              </a>
            ))}
          </dd>
        </div>
      </dl>
    </div>
  );
}

/** List of the calls of a group. */
function Endpoints({ group }: { readonly group: Group }): ReactElement {
  return (
    <ul className="api-endpoints">
      {group.operations.map(({ id, kind, method, path, summary, deprecated }) => (
        <li key={id}>
          <a
            href={`#${id}`}
            className={
              deprecated ? 'api-endpoints__link api-endpoints__link--deprecated' : 'api-endpoints__link'
            }
          >
            <Method method={method} />
            <span className="api-endpoints__name">{summary}</span>
            <span className="api-endpoints__path">{kind === 'call' ? path : id}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

/** Headers that several responses share. The responses link here. */
function SharedHeaders({ view }: { readonly view: View }): ReactElement | null {
  const fields = sharedHeadersOf(view.input.document);
  if (fields.length === 0) return null;
  return (
    <section className="api-group">
      <Heading id={sharedHeadersAnchor} title={apiWords.sharedHeaders} />
      <Fields view={view} fields={fields} />
    </section>
  );
}

/** A whole reference as static HTML, without hooks and effects; src/behaviour has the interactive parts. */
export function ApiReference(props: ApiInput & { readonly page: ApiPage }): ReactElement {
  const { page: _, ...input } = props;
  const view = viewOf(input);
  const { lead, parts } = partsOf(input.document.info.description ?? '');
  const hasCalls = operationsOf(input.document).some((one) => one.kind === 'call');
  return (
    <div className="api">
      <div className="api-introduction">
        <Text view={view} text={lead} className="api-text" />
        <About input={input} />
        {hasCalls ? <ValuesForm /> : null}
        {parts.map((part) => (
          <section key={part.id}>
            <Heading id={part.id} title={part.title} />
            <Text view={view} text={part.text} className="api-text" />
          </section>
        ))}
        {input.name === 'cws_notification' ? <Signature /> : null}
      </div>
      {groupsOf(input).map((group) => (
        <section key={group.id} className="api-group">
          <Heading id={group.id} title={group.title} note={group.tag} />
          <Text view={view} text={group.description} className="api-text" />
          <Endpoints group={group} />
          {group.operations.map((operation) => (
            <OperationView key={operation.id} view={view} operation={operation} />
          ))}
        </section>
      ))}
      <SharedHeaders view={view} />
    </div>
  );
}
