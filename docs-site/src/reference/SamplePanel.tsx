import type { ReactElement } from 'react';
import { CodeBlock } from '../content/CodeBlock';
import { CodeTabs } from '../content/CodeTabs';
import { apiWords } from '../strings/api';
import type { View } from './context';
import { pretty } from './literals';
import { samplesOf } from './samples';
import type { Example, Operation } from './types';

function ExampleBlock({
  view,
  example,
  title,
  open,
}: {
  readonly view: View;
  readonly example: Example;
  readonly title: string;
  readonly open: boolean;
}): ReactElement {
  return (
    <details className="api-example" open={open}>
      <summary>
        {title}
        {example.generated ? ` (${apiWords.generated})` : null}
      </summary>
      <CodeBlock language="json" html={view.input.highlight(pretty(example.value), 'json')} />
    </details>
  );
}

/** Samples next to the text: the request and its responses. */
export function Samples({
  view,
  operation,
}: {
  readonly view: View;
  readonly operation: Operation;
}): ReactElement {
  const { highlight } = view.input;
  const isCall = operation.kind === 'call';
  const blocks = samplesOf(operation).map(({ language, code }) => (
    <CodeBlock key={language} language={language} html={highlight(code, language)} />
  ));
  const others = (operation.request?.bodies ?? []).flatMap((body, index) =>
    body.examples.slice(index === 0 ? 1 : 0),
  );
  const answers = operation.answers
    .filter((one) => !/^[45]/.test(one.status))
    .flatMap((one) =>
      one.bodies.flatMap((body) => body.examples.map((example) => ({ status: one.status, example }))),
    );
  return (
    <div className="api-side">
      <h4 className="api-side__title">{isCall ? apiWords.sample : apiWords.receivedSample}</h4>
      {blocks.length > 1 ? <CodeTabs>{blocks}</CodeTabs> : blocks}
      {others.length > 0 ? <h4 className="api-side__title">{apiWords.otherExamples}</h4> : null}
      {others.map((example) => (
        <ExampleBlock key={example.name} view={view} example={example} title={example.name} open={false} />
      ))}
      {answers.length > 0 ? (
        <h4 className="api-side__title">{isCall ? apiWords.responseExample : apiWords.answerExample}</h4>
      ) : null}
      {answers.map(({ status, example }, index) => (
        <ExampleBlock
          key={status + example.name}
          view={view}
          example={example}
          title={`${status} ${example.name}`}
          open={index === 0}
        />
      ))}
    </div>
  );
}
