import { bar, dismissedAttribute, dismissKey, idKey } from './AnnouncementBar/bar';

/**
 * Runs in the head, before the first paint: the kept theme (light comes first, the system's preference is not asked),
 * the announcement bar that was closed, and the mark that JavaScript is there.
 */
export const headScript = `(function(d,t,c){try{t=localStorage.getItem('theme');c=localStorage.getItem('${idKey}')==='${bar.id}'&&localStorage.getItem('${dismissKey}')==='true'}catch(e){}d.setAttribute('data-theme',t==='dark'?'dark':'light');if(c)d.setAttribute('${dismissedAttribute}','');d.classList.add('js')})(document.documentElement)`;
