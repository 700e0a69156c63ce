/** The parts of the status page as text. Here they are files of this folder; the build puts them into the program. */
import { readFileSync } from 'node:fs';

export const document = read('page.html');
export const style = read('page.css');
/** The scripts in the order in which the page needs them. */
export const scripts = [read('words.client.js'), read('draw.client.js'), read('page.client.js')];

function read(file: string): string {
  return readFileSync(new URL(file, import.meta.url), 'utf8');
}
