import type { ReactElement } from 'react';
import { CodeBlock } from '../content/CodeBlock';
import type { ApiInput, ApiPage } from './types';

/** Thin path: title, description and one heading for each call; the whole renderer grows from here. */
const titles = {
  cws_api: 'API リファレンス',
  cws_notification: '通知 API リファレンス',
  cws_presigned_url: 'User APIs requirements',
} as const;

interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly tag: string;
  readonly description: string;
}

const methods = ['get', 'post', 'put', 'patch', 'delete'];

function operations({ document }: Pick<ApiInput, 'document'>): Operation[] {
  return [...Object.entries(document.paths ?? {}), ...Object.entries(document.webhooks ?? {})].flatMap(
    ([path, item]) =>
      Object.entries(item).flatMap(([method, value]) => {
        if (!methods.includes(method)) return [];
        const {
          operationId,
          summary,
          tags,
          description = '',
        } = value as {
          operationId?: string;
          summary?: string;
          tags?: string[];
          description?: string;
        };
        return [
          {
            id: operationId ?? path,
            method,
            path,
            summary: summary ?? path,
            tag: tags?.[0] ?? '',
            description,
          },
        ];
      }),
  );
}

export function describeApi(input: ApiInput): ApiPage {
  const all = operations(input);
  const tags = [...new Set(all.map((one) => one.tag))];
  return {
    title: titles[input.name],
    description: input.document.info.summary ?? input.document.info.title,
    toc: [],
    sidebar: tags.map((tag) => ({
      label: tag || titles[input.name],
      items: all
        .filter((one) => one.tag === tag)
        .map(({ id, method, summary }) => ({ label: summary, href: `#${id}`, method })),
    })),
    search: all.map(({ id, summary, method, path, description }) => ({
      href: `${input.route}#${id}`,
      title: summary,
      path: [titles[input.name]],
      text: `${method.toUpperCase()} ${path} ${id}\n${description}`,
      kind: 'operation',
    })),
    text: `# ${titles[input.name]}\n\n${input.document.info.description ?? ''}\n`,
  };
}

export function ApiReference(props: ApiInput & { readonly page: ApiPage }): ReactElement {
  return (
    <>
      {/* biome-ignore lint/security/noDangerouslySetInnerHtml: safe HTML of build/markdown.ts */}
      <div dangerouslySetInnerHTML={{ __html: props.markdown(props.document.info.description ?? '', 0) }} />
      {operations(props).map(({ id, method, path, summary }) => (
        <section key={id} className="api-operation">
          <h2 id={id}>{summary}</h2>
          <CodeBlock language="http" html={props.highlight(`${method.toUpperCase()} ${path}`, 'http')} />
        </section>
      ))}
    </>
  );
}
