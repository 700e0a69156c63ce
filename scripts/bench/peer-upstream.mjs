/** The HTTP server behind the programs of `bench:peers`, with the answers of `load-upstream.mjs`. Prints its port. */
import { createServer } from 'node:http';
import { answer } from './load-answers.mjs';

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.from(answer(Buffer.concat(chunks).toString('latin1')), 'latin1');
    if (request.method !== 'POST') response.writeHead(405).end();
    else if (body.length === 0) response.writeHead(202, { 'Content-Length': 0 }).end();
    else response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length }).end(body);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
process.stdin.resume().on('end', () => process.exit(0));
