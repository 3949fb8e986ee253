import type { z } from 'zod'
import { datesInUtc } from '../../crds/dates.ts'
import type { AnyKind } from '../../crds/define.ts'
import { interfaceRow } from '../http/interface.ts'
import { type RouteDraft, withKind } from '../http/route.ts'
import { expandPath } from '../http/template.ts'
import { registerDeclaration } from './declarations.ts'
import { readRoutes, writeRoutes } from './genericRoutes.ts'
import { powerRoutes } from './powerRoutes.ts'
import { RecordTexts } from './recordTexts.ts'
import type { AnyDeclaration, ResourceDeclaration } from './types.ts'

/**
 * Declares the generic routes of a kind in resource groups: those of the twelve that the interface has for it (all, if
 * it does not have the kind), its lists across groups, and actions if it can be stopped.
 */
export function resource<K extends AnyKind, Dto extends z.ZodObject, Body extends z.ZodObject>(
  kind: K,
  given: ResourceDeclaration<K, Dto, Body>,
): RouteDraft[] {
  if (!Object.hasOwn(kind.spec.shape, 'clusterId'))
    throw new Error(
      `${kind.kind} needs the field clusterId (ClusterId of src/crds/workloadFields.ts), as every resource.`,
    )
  const declaration = given as unknown as AnyDeclaration<K>
  registerDeclaration(kind, declaration)
  const { parameter = 'name', dto, toDto, dependsOn } = declaration
  const toUtc = datesInUtc(dto)
  const texts = new RecordTexts<K>((view) => toUtc(toDto(view)) as object, dependsOn)
  const declared = { ...declaration, kind, parameter, texts }
  const boundaryPath = expandPath(`{B}/resources/${kind.segment}`)
  const drafts = [...readRoutes(declared), ...writeRoutes(declared), ...powerRoutes(declared)]
  const isOfInterface = drafts.some((draft) => interfaceRow(draft) !== undefined)
  const isAddition = ({ path }: RouteDraft) => {
    if (path.startsWith(boundaryPath)) return true
    if (path.endsWith('/actions/{action}')) return 'running' in kind.spec.shape
    return !isOfInterface && (!path.endsWith('/scale') || 'replicas' in kind.spec.shape)
  }
  return withKind(
    kind,
    drafts.filter((draft) => interfaceRow(draft) !== undefined || isAddition(draft)),
  )
}
