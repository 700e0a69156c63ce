/** The icon of the Windows executable, drawn in code: three servers that lead to one. */
import { Data } from 'resedit';

const SIZES = [16, 32, 48, 256];
const BYTES_PER_PIXEL = 4;
const BITMAP_HEADER_SIZE = 40;

/** Colours as red, green, blue. */
const BACKGROUND = [24, 32, 54];
const LINE = [120, 170, 255];
const SERVER = [255, 255, 255];
const GATEWAY = [80, 220, 170];

/** Positions and lengths in units of the width of the icon. */
const CORNER = 0.2;
const LINE_WIDTH = 0.05;
const SERVERS = [0.24, 0.5, 0.76].map((y) => ({ x: 0.26, y, radius: 0.09 }));
const ONE = { x: 0.7, y: 0.5, radius: 0.16 };

/** Math.sqrt gives the same result on every machine; Math.hypot need not. */
const length = (x, y) => Math.sqrt(x * x + y * y);
const clamp = (value) => Math.min(1, Math.max(0, value));

/** Signed distances to the edge of a shape: negative inside. */
const toCircle = (circle, x, y) => length(x - circle.x, y - circle.y) - circle.radius;

function toRoundedSquare(x, y) {
  const [dx, dy] = [x, y].map((value) => Math.abs(value - 0.5) - (0.5 - CORNER));
  return length(Math.max(dx, 0), Math.max(dy, 0)) + Math.min(Math.max(dx, dy), 0) - CORNER;
}

function toLine(from, to, x, y) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const share = clamp(((x - from.x) * dx + (y - from.y) * dy) / (dx * dx + dy * dy));
  return length(x - from.x - share * dx, y - from.y - share * dy) - LINE_WIDTH / 2;
}

/** Shapes over the background, lowest first. */
const LAYERS = [
  ...SERVERS.map((server) => ({ colour: LINE, distance: (x, y) => toLine(server, ONE, x, y) })),
  ...SERVERS.map((server) => ({ colour: SERVER, distance: (x, y) => toCircle(server, x, y) })),
  { colour: GATEWAY, distance: (x, y) => toCircle(ONE, x, y) },
];

/** Returns blue, green, red and alpha of the pixel around a point. Edges are as soft as one pixel. */
function pixel(x, y, size) {
  const coverage = (distance) => clamp(0.5 - distance * size);
  let colour = BACKGROUND;
  for (const layer of LAYERS) {
    const share = coverage(layer.distance(x, y));
    colour = colour.map((value, channel) => value + (layer.colour[channel] - value) * share);
  }
  const [red, green, blue] = colour.map(Math.round);
  return [blue, green, red, Math.round(255 * coverage(toRoundedSquare(x, y)))];
}

/** Returns one icon as a bitmap of 32 bits per pixel, with its rows from bottom to top and an empty mask. */
export function drawIcon(size) {
  const maskRow = Math.ceil(size / 32) * 4;
  const bytes = Buffer.alloc(BITMAP_HEADER_SIZE + size * size * BYTES_PER_PIXEL + size * maskRow);
  bytes.writeUInt32LE(BITMAP_HEADER_SIZE, 0);
  bytes.writeInt32LE(size, 4);
  bytes.writeInt32LE(2 * size, 8);
  bytes.writeUInt16LE(1, 12);
  bytes.writeUInt16LE(8 * BYTES_PER_PIXEL, 14);
  let at = BITMAP_HEADER_SIZE;
  for (let row = size - 1; row >= 0; row--) {
    for (let column = 0; column < size; column++) {
      bytes.set(pixel((column + 0.5) / size, (row + 0.5) / size, size), at);
      at += BYTES_PER_PIXEL;
    }
  }
  return bytes;
}

/** Returns the icon in every size, for `resedit`. */
export function icons() {
  return SIZES.map((size) => {
    const bytes = drawIcon(size);
    const data = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    return Data.RawIconItem.from(data, size, size, 8 * BYTES_PER_PIXEL);
  });
}
