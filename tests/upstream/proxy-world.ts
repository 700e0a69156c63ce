/** A forward proxy inside the test: plain requests by their whole URL, everything else by CONNECT. */
import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { cleanup } from './world.ts';

export interface ProxyWorld {
  /** `http://127.0.0.1:port` */
  url: string;
  /** The requests that it received: `POST http://…`, `CONNECT host:port`. */
  asked: string[];
  headers: IncomingHttpHeaders[];
}

export async function serveProxy({ refuse }: { refuse?: number } = {}): Promise<ProxyWorld> {
  const asked: string[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer((from, to) => {
    asked.push(`${from.method} ${from.url}`);
    headers.push(from.headers);
    if (refuse !== undefined) return void to.writeHead(refuse).end('refused by the proxy');
    const { 'proxy-authorization': _, ...rest } = from.headers;
    const onward = httpRequest(from.url ?? '', { method: from.method, headers: rest, agent: false }, (response) => {
      to.writeHead(response.statusCode ?? 500, response.headers);
      response.pipe(to);
    });
    onward.on('error', () => to.destroy());
    from.pipe(onward);
    return undefined;
  });
  server.on('connect', (request, socket, head) => {
    asked.push(`CONNECT ${request.url}`);
    headers.push(request.headers);
    socket.on('error', () => undefined);
    if (refuse !== undefined) return socket.end(`HTTP/1.1 ${refuse} No\r\nContent-Length: 0\r\n\r\n`);
    const [host, port] = (request.url ?? '').split(':');
    const onward = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.write(head);
      onward.pipe(socket).pipe(onward);
    });
    onward.on('error', () => socket.destroy());
    cleanup(() => onward.destroy());
    return undefined;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanup(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, headers };
}
