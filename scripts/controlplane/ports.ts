import { randomInt } from 'node:crypto'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { readIfThere, writePrivate } from './files.ts'

export type Ports<Name extends string> = Record<Name, number>

/** Selects the stored ports to keep: valid, distinct and free ones. */
export function keptPorts<Name extends string>(
  names: readonly Name[],
  stored: Readonly<Partial<Record<Name, unknown>>>,
  isFree: (port: number) => boolean,
): Partial<Ports<Name>> {
  const kept: Partial<Ports<Name>> = {}
  const taken = new Set<number>()
  for (const name of names) {
    const port = stored[name]
    if (typeof port !== 'number' || !Number.isInteger(port) || port < 1 || port > 65_535) continue
    if (taken.has(port) || !isFree(port)) continue
    taken.add(port)
    kept[name] = port
  }
  return kept
}

/**
 * Below the ports that the kernel assigns to outgoing connections and to unnamed listeners, and below node ports:
 * seconds pass until the last program of a platform listens, and any connection could take its port in between.
 */
const FREE_RANGE = { from: 12_000, below: 30_000 }
/** More than the number of listeners of a platform. */
const PORT_BLOCK_SIZE = 50
/** Milliseconds between choosing ports and the last program listening on one. */
const MARKER_TTL_MS = 120_000

/**
 * Ports on loopback for the named listeners: those of the last run if they are free, so that kubeconfigs and bookmarks
 * remain valid, otherwise free ones. All are held open while choosing, so that no two are equal.
 *
 * @param requested ports that somebody wants for some of them; whoever else had one of these gets another
 * @throws Error where such a port cannot be had, or no port is free; nothing is remembered then
 */
export async function choosePorts<Name extends string>(
  folder: string,
  names: readonly Name[],
  requested: Partial<Ports<Name>> = {},
): Promise<Ports<Name>> {
  const path = join(folder, 'ports.json')
  const wanted = Object.entries<number | undefined>(requested)
  const taken = new Set<unknown>(wanted.map(([, port]) => port))
  const otherPorts = Object.entries(parsePorts(await readIfThere(path))).filter(([, port]) => !taken.has(port))
  const stored = { ...Object.fromEntries(otherPorts), ...requested }
  const held = new Map<number, Server>()
  try {
    for (const [name, port] of wanted)
      if (port !== undefined && (await hold(port, held)) === 0) throw portUnavailable(name, port)
    for (const port of Object.values(stored)) await hold(port, held)
    const chosen = keptPorts(names, stored as Partial<Ports<Name>>, (port) => held.has(port))
    const next = names.every((name) => chosen[name] !== undefined) ? undefined : await findPortBlock(held)
    for (const name of names) chosen[name] ??= await next?.()
    await markPortBlock(Object.values(chosen as Ports<Name>), held)
    await writePrivate(path, `${JSON.stringify({ ...stored, ...chosen }, null, 2)}\n`)
    return chosen as Ports<Name>
  } finally {
    await Promise.all([...held.values()].map((server) => new Promise((done) => server.close(done))))
  }
}

function portUnavailable(name: string, port: number): Error {
  const message = `Nothing can listen on port ${port} of 127.0.0.1, which was asked for ("${name}")`
  return new Error(`${message}: end what listens there, or name another port.`)
}

function parsePorts(text: string | undefined): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text ?? '{}')
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

/**
 * Chooses from adjacent ports that are all free: if one is taken, the others may have been chosen by a start that does
 * not listen yet. Without such a range, any free port is used.
 *
 * @returns gives the next one
 */
async function findPortBlock(held: Map<number, Server>): Promise<() => Promise<number>> {
  const { from, below } = FREE_RANGE
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const first = from + PORT_BLOCK_SIZE * randomInt((below - from) / PORT_BLOCK_SIZE)
    const all = Array.from({ length: PORT_BLOCK_SIZE }, (_, index) => first + index)
    const found = await Promise.all(all.map((port) => hold(port, held)))
    if (found.every((port) => port !== 0)) return async () => all.shift() ?? (await holdAny(held))
  }
  return () => holdAny(held)
}

/**
 * Keeps listening on the last of the adjacent ports, so that a concurrent start, in this process or another, does not
 * find all of them free before the programs listen.
 */
async function markPortBlock(chosen: readonly number[], held: Map<number, Server>): Promise<void> {
  const { from, below } = FREE_RANGE
  const inRange = chosen.filter((port) => port >= from && port < below)
  for (const marker of new Set(inRange.map((port) => port - (port % PORT_BLOCK_SIZE) + PORT_BLOCK_SIZE - 1))) {
    if (chosen.includes(marker)) continue
    await hold(marker, held)
    const server = held.get(marker)
    if (server === undefined) continue
    held.delete(marker)
    server.unref()
    setTimeout(() => server.close(), MARKER_TTL_MS).unref()
  }
}

/** @throws Error where a hundred ports of the range are taken */
async function holdAny(held: Map<number, Server>): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = await hold(randomInt(FREE_RANGE.from, FREE_RANGE.below), held)
    if (port !== 0) return port
  }
  const { from, below } = FREE_RANGE
  throw new Error(`No free port was found on 127.0.0.1 between ${from} and ${below - 1}: end what listens there.`)
}

async function hold(port: unknown, held: Map<number, Server>): Promise<number> {
  if (typeof port !== 'number' || held.has(port)) return 0
  // A client of the last run may connect; an open connection would hold the port forever.
  const server = createServer((socket) => socket.destroy())
  const bound = await new Promise<number>((done) => {
    server.once('error', () => done(0))
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => {
      const address = server.address()
      done(typeof address === 'object' && address !== null ? address.port : 0)
    })
  })
  if (bound !== 0) held.set(bound, server)
  return bound
}
