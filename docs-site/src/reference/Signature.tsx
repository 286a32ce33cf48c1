import type { ReactElement } from 'react';
import { apiWords } from '../strings/api';
import { ja } from '../strings/ja';
import { signatureAnchor, signatures, testVector } from './samples';

const words = apiWords.signature;

const inputs = [
  { name: 'key', label: words.key },
  { name: 'id', label: words.id },
  { name: 'timestamp', label: words.timestamp },
  { name: 'received', label: words.received },
] as const;

/** Signature calculator (src/behaviour/signature.ts). Without JavaScript, the test vector is still readable. */
export function Signature(): ReactElement {
  const { simple, standard } = signatures(testVector);
  const rows = [
    [words.key, testVector.key],
    [words.id, testVector.id],
    [words.timestamp, testVector.timestamp],
    [words.body, testVector.body],
    [`X-TLPF-NOTIFICATION-KEY: ${words.simpleOf}`, simple],
    [`webhook-signature: ${words.standardOf}`, standard],
  ] as const;
  return (
    <section className="api-signature" aria-labelledby={signatureAnchor}>
      <h2 id={signatureAnchor} className="heading">
        {words.title}
        <a className="heading__link" href={`#${signatureAnchor}`} aria-label={ja.heading.link(words.title)}>
          #
        </a>
      </h2>
      <p>{words.text}</p>
      <p>
        <a href="/docs/introduction/preparation#verify">{words.guide}</a>
      </p>
      <form
        className="api-signature__form"
        data-signature=""
        data-vector={JSON.stringify(testVector)}
        autoComplete="off"
      >
        <div className="api-signature__fields">
          {inputs.map(({ name, label }) => (
            <label key={name} className="api-signature__field">
              <span className="api-signature__label">{label}</span>
              <input
                className="values__input"
                name={name}
                type="text"
                autoComplete="off"
                spellCheck={false}
              />
            </label>
          ))}
        </div>
        <label className="api-signature__field">
          <span className="api-signature__label">{words.body}</span>
          <textarea
            className="values__input api-signature__body"
            name="body"
            rows={5}
            autoComplete="off"
            spellCheck={false}
          />
        </label>
        <p className="api-signature__note">{words.bodyNote}</p>
        <label className="api-signature__field">
          <span className="api-signature__label">{words.file}</span>
          <input className="values__input" name="file" type="file" autoComplete="off" />
        </label>
        <p className="api-signature__buttons">
          <button type="button" className="button" data-signature-use="">
            {words.useVector}
          </button>
          <button type="reset" className="button button--plain">
            {words.clear}
          </button>
        </p>
        <noscript>
          <p>{words.noScript}</p>
        </noscript>
        <div className="api-signature__result" role="status">
          <p data-signature-say="">{words.empty}</p>
          <dl className="api-signature__values" hidden>
            <dt>X-TLPF-NOTIFICATION-KEY</dt>
            <dd>
              <code data-signature-simple="" />
            </dd>
            <dt>webhook-signature</dt>
            <dd>
              <code data-signature-standard="" />
            </dd>
          </dl>
        </div>
      </form>
      <h3>{words.vector}</h3>
      <p>{words.vectorText}</p>
      <dl className="api-vector">
        {rows.map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              <code>{value}</code>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
