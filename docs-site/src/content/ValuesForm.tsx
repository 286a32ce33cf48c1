import type { ReactElement } from 'react';
import { ja } from '../strings/ja';

const fields = [
  'apiUrl',
  'tokenUrl',
  'clientId',
  'clientSecret',
  'applicationId',
  'deviceId',
  'integratorUrl',
] as const;

/** Form for the reader values of all samples (src/behaviour/values.ts). */
export function ValuesForm(): ReactElement {
  return (
    <details className="values" data-values="">
      <summary className="values__summary">{ja.values.title}</summary>
      <form className="values__form" autoComplete="off">
        <p className="values__note">{ja.values.note}</p>
        <div className="values__fields">
          {fields.map((name) => (
            <div key={name} className="values__field">
              <label>
                <span className="values__label">{ja.values.fields[name]}</span>
                <input
                  className="values__input"
                  name={name}
                  type={name === 'clientSecret' ? 'password' : 'text'}
                  placeholder={ja.values.forms[name]}
                  autoComplete="off"
                  spellCheck={false}
                  maxLength={200}
                />
              </label>
              <p className="values__problem" aria-live="polite" />
            </div>
          ))}
        </div>
        <button type="reset" className="button button--plain">
          {ja.values.clear}
        </button>
        <noscript>{ja.values.noScript}</noscript>
      </form>
    </details>
  );
}
