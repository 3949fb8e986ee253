import type { z } from 'zod'
import type { AnyKind } from '../../crds/define.ts'
import { action, type Declaration, type Handler, type Method, type RouteDraft, route } from '../http/route.ts'
import type { RecordTexts } from './recordTexts.ts'
import { type AnyDeclaration, actionOf, type PowerAction } from './types.ts'

/** A kind with its declaration, and what all of its routes share. */
export type DeclaredResource<K extends AnyKind = AnyKind> = AnyDeclaration<K> & {
  readonly kind: K
  readonly parameter: string
  readonly texts: RecordTexts<K>
}

const GROUP = '{RG}/:segment'
const ONE = `${GROUP}/{:parameter}`
const BOUNDARY = '{B}/resources/:segment'

/** The twelve generic routes of section 4.2 of the interface: method, path, permission, summary. */
const ROUTES = {
  list: ['GET', GROUP, 'read', 'List in a resource group'],
  config: ['GET', `${GROUP}/config`, 'read', 'How the list can be sorted and filtered'],
  get: ['GET', ONE, 'read', 'Read one'],
  listAll: ['GET', BOUNDARY, 'read', 'List across the groups of a boundary'],
  configAll: ['GET', `${BOUNDARY}/config`, 'read', 'How the list across groups can be sorted and filtered'],
  create: ['POST', ONE, 'write', 'Create; the same body again answers 200'],
  update: ['PUT', ONE, 'write', 'Replace the writable fields'],
  patch: ['PATCH', ONE, 'write', 'JSON Merge Patch (RFC 7396) of the record'],
  delete: ['DELETE', ONE, 'delete', 'Delete; 202 while something is still torn down'],
  action: ['PUT', `${ONE}/actions/{action}`, 'write', 'start, stop or restart'],
  getScale: ['GET', `${ONE}/scale`, 'read', 'Current scale'],
  scale: ['POST', `${ONE}/scale`, 'scale', 'Change the number of replicas'],
} as const satisfies Record<string, readonly [Method, string, PowerAction, string]>

/** Declares one of these routes for a kind, with its schemas and its handler. */
export function genericRoute<Body extends z.ZodType = z.ZodUndefined, Reply extends z.ZodType = z.ZodAny>(
  name: keyof typeof ROUTES,
  { kind, parameter }: Pick<DeclaredResource, 'kind' | 'parameter'>,
  schemas: Pick<
    Declaration<z.ZodObject, Body, Reply>,
    'answers' | 'body' | 'documentedBody' | 'example' | 'further' | 'list' | 'mediaTypes' | 'naming' | 'query' | 'reply'
  >,
  handler: Handler<string, z.ZodObject, Body, Reply>,
): RouteDraft {
  const [method, template, verb, summary] = ROUTES[name]
  const path: string = template.replace(':segment', kind.segment).replace(':parameter', parameter)
  return route(method, path, {
    auth: action(actionOf(kind, verb)),
    summary,
    ...schemas,
    ...(name === 'scale' && { isHeld: true }),
    handler,
  })
}
