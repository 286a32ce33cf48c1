import { ja } from '../strings/ja';
import { bar, dismissedAttribute, dismissKey, idKey } from './AnnouncementBar/bar';
import { earlyClick } from './earlyClick';

/** Sets the stored theme (default: light, without the system preference), hides a closed bar, sets the class `js`. */
const appearance = `try{t=localStorage.getItem('theme');c=localStorage.getItem('${idKey}')==='${bar.id}'&&localStorage.getItem('${dismissKey}')==='true'}catch(e){}d.setAttribute('data-theme',t==='dark'?'dark':'light');if(c)d.setAttribute('${dismissedAttribute}','');d.classList.add('js')`;

/** Encodes an invalid hash: Gatsby throws on it. This listener runs before the listeners of Gatsby's router. */
const hash = `function h(){try{decodeURI(l.hash)}catch(e){history.replaceState(history.state,'',l.hash.replace(/%/g,'%25'))}}h();addEventListener('popstate',h)`;

/** Records the last click on a button before hydration; src/theme/earlyClick.ts repeats it. */
const click = `addEventListener('click',function(e){var r=document.getElementById('___gatsby'),b=e.target.closest('#___gatsby button[type=button]');window.${earlyClick}=b&&!/__reactC/.test(Object.keys(r))?[b,performance.now()]:0},true)`;

/** Shows a notice if a script cannot be loaded: the page can be read, but is not interactive. */
const failure = `addEventListener('error',function(e){var b=document.body,s;if(e.target.tagName!=='SCRIPT'||d.dataset.ready||!b||b.querySelector('.load-failure'))return;s=document.createElement('section');s.className='load-failure';s.setAttribute('role','alert');s.innerHTML='<p>${ja.error.script}</p><button type="button" class="button">${ja.error.reload}</button><button type="button" class="button button--plain">${ja.bar.close}</button>';s.children[1].onclick=function(){l.reload()};s.children[2].onclick=function(){s.remove()};b.prepend(s)},true)`;

/** Inline script of the head. Runs before the first paint and before Gatsby. */
export const headScript = `(function(d,l,t,c){${[appearance, hash, click, failure].join(';')}})(document.documentElement,location)`;
