/** A table of units of measure: each unit has a factor and an offset to the base unit of its kind. */
import { nearest } from '../../render/text.ts';
import { rejectInput } from './input.ts';

/** The base value is value × factor + offset. The first name is the displayed one. */
interface Unit {
  kind: string;
  factor: number;
  offset: number;
}

/** The units by kind: "name alias …" → factor, or [factor, offset]. */
const TABLE: Record<string, Record<string, number | [number, number]>> = {
  length: {
    'm meter meters metre metres': 1,
    'mm millimeter millimeters': 1e-3,
    'cm centimeter centimeters': 1e-2,
    'km kilometer kilometers': 1e3,
    'um micrometer micrometers': 1e-6,
    'in inch inches': 0.0254,
    'ft foot feet': 0.3048,
    'yd yard yards': 0.9144,
    'mi mile miles': 1609.344,
    'nmi nauticalmile nauticalmiles': 1852,
  },
  mass: {
    'kg kilogram kilograms': 1,
    'g gram grams': 1e-3,
    'mg milligram milligrams': 1e-6,
    't tonne tonnes': 1e3,
    'lb lbs pound pounds': 0.45359237,
    'oz ounce ounces': 0.028349523125,
    'st stone': 6.35029318,
    'jin 斤': 0.5,
  },
  temperature: {
    'K kelvin': 1,
    'C celsius °C': [1, 273.15],
    'F fahrenheit °F': [5 / 9, 273.15 - (32 * 5) / 9],
  },
  time: {
    's sec second seconds': 1,
    'ms millisecond milliseconds': 1e-3,
    'min minute minutes': 60,
    'h hr hour hours': 3600,
    'd day days': 86_400,
    'week weeks': 604_800,
    'year years': 31_557_600,
  },
  area: {
    'm2 m²': 1,
    'cm2 cm²': 1e-4,
    'km2 km²': 1e6,
    'ha hectare hectares': 1e4,
    'acre acres': 4046.8564224,
    'ft2 sqft ft²': 0.09290304,
    'mu 亩': 10_000 / 15,
  },
  volume: {
    'l liter liters litre litres': 1,
    'ml milliliter milliliters': 1e-3,
    'm3 m³': 1e3,
    'gal gallon gallons': 3.785411784,
    'qt quart quarts': 0.946352946,
    'pt pint pints': 0.473176473,
    'cup cups': 0.2365882365,
    floz: 0.0295735295625,
    'tbsp tablespoon tablespoons': 0.01478676478125,
    'tsp teaspoon teaspoons': 0.00492892159375,
  },
  speed: { 'm/s mps': 1, 'km/h kmh kph': 1 / 3.6, 'mph mi/h': 0.44704, 'kn knot knots': 1852 / 3600 },
  data: {
    'B byte bytes': 1,
    'bit bits': 1 / 8,
    'kB KB kilobyte kilobytes': 1e3,
    'MB megabyte megabytes': 1e6,
    'GB gigabyte gigabytes': 1e9,
    'TB terabyte terabytes': 1e12,
    'KiB kibibyte kibibytes': 1024,
    'MiB mebibyte mebibytes': 1024 ** 2,
    'GiB gibibyte gibibytes': 1024 ** 3,
    'TiB tebibyte tebibytes': 1024 ** 4,
  },
  energy: {
    'J joule joules': 1,
    'kJ kilojoule kilojoules': 1e3,
    'cal calorie calories': 4.184,
    kcal: 4184,
    Wh: 3600,
    kWh: 3.6e6,
  },
  pressure: { 'Pa pascal pascals': 1, kPa: 1e3, bar: 1e5, atm: 101_325, psi: 6894.757293168, mmHg: 133.322387415 },
  angle: { 'rad radian radians': 1, 'deg degree degrees °': Math.PI / 180, 'turn turns': 2 * Math.PI },
};

const UNITS: ReadonlyMap<string, Unit> = new Map(
  Object.entries(TABLE).flatMap(([kind, units]) =>
    Object.entries(units).flatMap(([names, scale]) => {
      const [factor, offset] = typeof scale === 'number' ? [scale, 0] : scale;
      return names.split(' ').map((name): [string, Unit] => [name, { kind, factor, offset }]);
    }),
  ),
);

/** The kinds with the unit names that the documentation shows. */
export const UNIT_SUMMARY = Object.entries(TABLE)
  .map(
    ([kind, units]) =>
      `${kind} (${Object.keys(units)
        .map((names) => names.split(' ')[0])
        .join(', ')})`,
  )
  .join('; ');

export function convertUnits(value: number, from: string, to: string): { value: number; kind: string } {
  const [source, target] = [find(from), find(to)];
  if (source.kind !== target.kind) rejectInput(`"${from}" measures ${source.kind}, "${to}" measures ${target.kind}`);
  const converted = (value * source.factor + source.offset - target.offset) / target.factor;
  // Twelve digits hide the rounding errors of the factors (0.1 + 0.2) and keep every digit of the factors.
  return { value: Number(converted.toPrecision(12)), kind: source.kind };
}

/** Finds a unit by its exact spelling, since `mb` and `MB` may differ, then in any case if that is unambiguous. */
function find(name: string): Unit {
  const trimmed = name.trim();
  const exact = UNITS.get(trimmed);
  if (exact) return exact;
  const folded = trimmed.toLowerCase();
  const alike = new Set([...UNITS].filter(([known]) => known.toLowerCase() === folded).map(([, unit]) => unit.factor));
  const [match] = [...UNITS].filter(([known]) => known.toLowerCase() === folded);
  if (match && alike.size === 1) return match[1];
  const near = nearest(trimmed, [...UNITS.keys()]);
  return rejectInput(
    `unknown unit "${name}"`,
    near.length > 0 ? `did you mean ${near.map((unit) => `"${unit}"`).join(' or ')}?` : undefined,
  );
}
