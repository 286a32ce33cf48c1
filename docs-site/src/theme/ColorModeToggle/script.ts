/** Runs in the head, before the first paint. Light comes first; the system's preference is not asked. */
export const colourScript = `(function(){var t='light';try{if(localStorage.getItem('theme')==='dark')t='dark'}catch(e){}document.documentElement.setAttribute('data-theme',t);document.documentElement.classList.add('js')})()`;
