import { Children, isValidElement, type ReactElement, type ReactNode } from 'react';
import { ja } from '../strings/ja';
import { type CodeBlockProps, languageNames } from './CodeBlock';

/**
 * One sample in several languages. Without JavaScript, all blocks are visible, each with its language as heading.
 * src/behaviour/tabs.ts turns them into tabs and stores the choice for the whole site.
 */
export function CodeTabs({ children }: { readonly children?: ReactNode }): ReactElement {
  const blocks = Children.toArray(children).filter((one): one is ReactElement<CodeBlockProps> => {
    return isValidElement(one) && typeof (one.props as CodeBlockProps).language === 'string';
  });
  return (
    <div className="tabs" data-tabs="">
      <div className="tabs__list" role="tablist" aria-label={ja.code.languages}>
        {blocks.map(({ props }, index) => (
          <button
            key={props.language}
            type="button"
            role="tab"
            className="tabs__tab"
            aria-selected={index === 0}
            tabIndex={index === 0 ? 0 : -1}
            data-language={props.language}
          >
            {languageNames[props.language]}
          </button>
        ))}
      </div>
      {blocks.map((block) => (
        <div key={block.props.language} className="tabs__panel" data-language={block.props.language}>
          <p className="tabs__name">{languageNames[block.props.language]}</p>
          {block}
        </div>
      ))}
    </div>
  );
}
