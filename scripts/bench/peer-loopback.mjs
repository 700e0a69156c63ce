/** Preloaded into peers that cannot be told an address: they listen on loopback and nowhere else. */
import { Server } from 'node:net';

const { listen } = Server.prototype;

Server.prototype.listen = function onLoopback(target, ...rest) {
  if (typeof target === 'object' && target?.port !== undefined)
    return listen.call(this, { ...target, host: '127.0.0.1' }, ...rest);
  const port = Number(target);
  if (target === undefined || !Number.isInteger(port)) return listen.call(this, target, ...rest);
  const done = rest.filter((one) => typeof one === 'function');
  return listen.call(this, { port, host: '127.0.0.1' }, ...done);
};
