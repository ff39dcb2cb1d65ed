// Where lines may break: behind the parts of a long name, but not inside an option or between a number and its unit.
// Without this script some tables are too wide.
for (const code of document.querySelectorAll("main :not(pre) > code")) {
    if (code.children.length > 0) continue;
    let text = code.innerHTML;
    if (text.length > 20) text = text.replace(/::|[/_]/g, "$&<wbr>");
    code.innerHTML = text.replace(/(^|\s)(--?[a-z][\w-]*)/g, '$1<span class="option">$2</span>');
}
for (const cell of document.querySelectorAll("td")) {
    cell.classList.toggle("long", cell.textContent.length > 60);
    cell.classList.toggle("number", /^[\d.,-]+( \S{1,3})?$/.test(cell.textContent.trim()));
}
