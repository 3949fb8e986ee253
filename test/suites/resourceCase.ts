import type { Test } from 'supertest'
import type { SERVED_ROUTES } from '../../src/api/index.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import type { startFacade } from '../worlds/facadeServer.ts'

export type Server = Awaited<ReturnType<typeof startFacade>>
export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

export const BOUNDARY = '11111111-1111-4111-8111-111111111111'
export const OWNER = '22222222-2222-4222-8222-222222222222'
export const NAME = 'orders'

/** A kind of resource in a group, with the objects that its generic routes need. */
export type ResourceCase = {
  kind: AnyKind
  /** The word of its paths; the plural of the kind if absent. */
  segment?: string
  /** Creates what it refers to, such as plans. */
  world?: (server: Server) => void
  /** The minimal body for POST. */
  body: object
  /** A body for POST with a different spec. */
  other: object
  /** A merge patch and the resulting record; absent if the kind has no PATCH. */
  patch?: { body: object; shows: object }
  /** Fields with values that only an earlier version accepted, for the minimal body. */
  former?: object
  /** A body for POST that names a public host, of kinds that have one. */
  hosted?: object
  /** The record has no location and no tags. */
  isBrief?: boolean
  /** The answer to GET of the scale, for kinds that have one. */
  scale?: { minScale: number; maxScale: number }
}

export type World = {
  server: Server
  base: string
  call: (method: Method, at: string, caller?: string) => Test
  create: (name?: string, body?: object) => Test
  /** Whether the kind has this route, below its collection. */
  has: (method: Method, below: string) => boolean
}

type Served = (typeof SERVED_ROUTES)[number]

/** Whether a route serves the path. */
export function isServed({ method, path }: Served, wanted: Method, meant: string): boolean {
  if (method !== wanted.toUpperCase()) return false
  const [names, values] = [path.split('/'), meant.split('/')]
  // `/config` is not a name.
  if (values.at(-1) === 'config' && names.at(-1) !== 'config') return false
  return names.length === values.length && names.every((name, index) => name.startsWith('{') || name === values[index])
}
