import { bar, dismissedAttribute, dismissKey, idKey } from './AnnouncementBar/bar';

/** The kept theme (light comes first, the system's preference is not asked), the closed bar, the mark of JavaScript. */
const appearance = `try{t=localStorage.getItem('theme');c=localStorage.getItem('${idKey}')==='${bar.id}'&&localStorage.getItem('${dismissKey}')==='true'}catch(e){}d.setAttribute('data-theme',t==='dark'?'dark':'light');if(c)d.setAttribute('${dismissedAttribute}','');d.classList.add('js')`;

/** Gatsby throws on a hash that it cannot decode. This listener comes before those of its router. */
const hash = `function h(){try{decodeURI(l.hash)}catch(e){history.replaceState(history.state,'',l.hash.replace(/%/g,'%25'))}}h();addEventListener('popstate',h)`;

/** Runs in the head, before the first paint and before Gatsby. */
export const headScript = `(function(d,l,t,c){${[appearance, hash].join(';')}})(document.documentElement,location)`;
