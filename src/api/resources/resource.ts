import type { z } from 'zod'
import type { AnyKind } from '../../crds/define.ts'
import type { RouteDraft } from '../http/route.ts'
import { genericRoutes } from './genericRoutes.ts'
import type { ResourceDeclaration } from './types.ts'

/** Declares the generic routes of a kind that lives in resource groups. */
export function resource<K extends AnyKind, Dto extends z.ZodObject, Body extends z.ZodObject>(
  kind: K,
  declaration: ResourceDeclaration<K, Dto, Body>,
): RouteDraft[] {
  return genericRoutes(kind, declaration)
}
