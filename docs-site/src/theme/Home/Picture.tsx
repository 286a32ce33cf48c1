import type { ReactElement } from 'react';

/** Diagram of the system: headset, cloud and the reader's server, with a call and a callback. */
export function Picture(): ReactElement {
  return (
    <svg className="picture" viewBox="0 0 520 380" role="img" aria-labelledby="picture-title">
      <title id="picture-title">
        サーバーが API を呼び出し、クラウドがヘッドセットを操作し、結果を通知する流れ
      </title>
      <g className="picture__grid">
        <path d="M20 60h480M20 120h480M20 180h480M20 240h480M20 300h480M80 20v340M160 20v340M240 20v340M320 20v340M400 20v340" />
      </g>
      <path className="picture__wire" d="M158 122C196 92 214 88 246 96" />
      <path className="picture__wire picture__wire--back" d="M262 196C226 214 196 208 160 178" />
      <path className="picture__wire" d="M372 186C402 206 410 222 412 244" />
      <g className="picture__dots">
        <circle cx="202" cy="98" r="5" />
        <circle cx="210" cy="206" r="5" />
        <circle cx="404" cy="214" r="5" />
      </g>
      <g transform="translate(40 92)">
        <rect className="picture__box" width="118" height="112" rx="12" />
        <path className="picture__line" d="M16 30h86M16 56h86M16 82h86" />
        <g className="picture__light">
          <circle cx="24" cy="18" r="4" />
          <circle cx="24" cy="44" r="4" />
          <circle cx="24" cy="70" r="4" />
        </g>
        <text x="59" y="136" textAnchor="middle">
          お客様のサーバー
        </text>
      </g>
      <g transform="translate(236 62)">
        <path className="picture__cloud" d="M38 138a38 38 0 01-6-75.500A50 50 0 01127 58a33 33 0 013 80z" />
        <text className="picture__name" x="84" y="104" textAnchor="middle">
          API
        </text>
        <text x="84" y="162" textAnchor="middle">
          Headset Cloud
        </text>
      </g>
      <g transform="translate(352 246)">
        <path className="picture__band" d="M22 62V48a40 40 0 0180 0v14" />
        <rect className="picture__ear" x="10" y="54" width="24" height="42" rx="11" />
        <rect className="picture__ear" x="90" y="54" width="24" height="42" rx="11" />
        <path className="picture__band" d="M102 96c0 14-11 20-26 20h-8" />
        <circle className="picture__mic" cx="62" cy="116" r="7" />
      </g>
      <g className="picture__label" transform="translate(166 60)">
        <text>PUT /commands</text>
      </g>
      <g className="picture__label" transform="translate(128 252)">
        <text>通知: processed</text>
      </g>
    </svg>
  );
}
