import { ja } from '../strings/ja';
import { bar, dismissedAttribute, dismissKey, idKey } from './AnnouncementBar/bar';
import { earlyClick } from './earlyClick';

/** The kept theme (light comes first, the system's preference is not asked), the closed bar, the mark of JavaScript. */
const appearance = `try{t=localStorage.getItem('theme');c=localStorage.getItem('${idKey}')==='${bar.id}'&&localStorage.getItem('${dismissKey}')==='true'}catch(e){}d.setAttribute('data-theme',t==='dark'?'dark':'light');if(c)d.setAttribute('${dismissedAttribute}','');d.classList.add('js')`;

/** Gatsby throws on a hash that it cannot decode. This listener comes before those of its router. */
const hash = `function h(){try{decodeURI(l.hash)}catch(e){history.replaceState(history.state,'',l.hash.replace(/%/g,'%25'))}}h();addEventListener('popstate',h)`;

/** The last click on a button before React listens; src/theme/earlyClick.ts repeats it. */
const click = `addEventListener('click',function(e){var r=document.getElementById('___gatsby'),b=e.target.closest('#___gatsby button[type=button]');window.${earlyClick}=b&&!/__reactC/.test(Object.keys(r))?[b,performance.now()]:0},true)`;

/** A script that does not come leaves a page that can be read and does nothing else. */
const failure = `addEventListener('error',function(e){var b=document.body,s;if(e.target.tagName!=='SCRIPT'||d.dataset.ready||!b||b.querySelector('.load-failure'))return;s=document.createElement('section');s.className='load-failure';s.setAttribute('role','alert');s.innerHTML='<p>${ja.error.script}</p><button type="button" class="button">${ja.error.reload}</button><button type="button" class="button button--plain">${ja.bar.close}</button>';s.children[1].onclick=function(){l.reload()};s.children[2].onclick=function(){s.remove()};b.prepend(s)},true)`;

/** Runs in the head, before the first paint and before Gatsby. */
export const headScript = `(function(d,l,t,c){${[appearance, hash, click, failure].join(';')}})(document.documentElement,location)`;
