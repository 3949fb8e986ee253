import { refusedFields } from '../../core/errors.ts'
import { parseScope, type Scope, scopeContains } from '../../core/scope.ts'
import type { Services } from '../http/context.ts'
import { objectAt } from '../rules/grants.ts'

const refused = (message: string) => refusedFields([{ field: 'scope', message }])

export const nothingAtScope = () => refused('nothing exists at this scope')

/** @throws PlatformError BAD_REQUEST if the scope is invalid, outside the boundary or does not exist */
export function readScope(services: Services, text: string, boundaryId: string): Scope {
  const scope = parseScope(text)
  if (scope === undefined) throw refused('must be a scope, such as /boundaries/<uuid>/resourcegroups/<name>')
  if (!scopeContains({ level: 'boundary', boundaryId }, scope)) throw refused('must lie in the boundary')
  if (objectAt(services.records, scope) === undefined) throw nothingAtScope()
  return scope
}
