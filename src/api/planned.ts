import { z } from 'zod'
import type { ActionName } from '../core/actions.ts'
import { INTERFACE_ROWS, type InterfaceRow } from './http/interface.ts'
import {
  type Authorization,
  action,
  anonymous,
  authenticated,
  dataAction,
  type Method,
  type RouteDraft,
  route,
  type ScopeLevel,
} from './http/route.ts'

const TYPES: Readonly<Record<string, z.ZodType>> = {
  integer: z.int(),
  boolean: z.boolean(),
  uuid: z.guid(),
  'date-time': z.iso.datetime({ offset: true }),
  'string[]': z.array(z.string()),
}

/** The rows of an area that no route serves yet: authenticated and authorized like any other, then 501. */
export function plannedRoutes(area: string, built: readonly RouteDraft[]): RouteDraft[] {
  const served = new Set(built.map(({ method, path }) => `${method} ${path}`))
  return INTERFACE_ROWS.filter((row) => row.area === area && !served.has(`${row.method} ${row.path}`)).map(planned)
}

function planned(row: InterfaceRow): RouteDraft {
  const query = (row.query ?? []).map(({ name, type, required }) => {
    const schema = TYPES[type] ?? z.string()
    return [name, required ? schema : schema.optional()] as const
  })
  const draft = route(
    row.method as Method,
    row.path,
    {
      auth: authorizationOf(row),
      summary: 'Not built yet',
      query: z.object(Object.fromEntries(query)),
      isBodyOptional: true,
      // Where the interface has problem details (section 7).
      errors: row.area === 'kernel' || row.path.startsWith('/lifecycle/backups') ? 'problem' : 'platform',
      ...(row.scope !== undefined && { scope: row.scope as ScopeLevel }),
      ...(row.body !== undefined && {
        body: z.unknown().meta({ description: `${row.body}: its fields are described when the route is built` }),
      }),
    },
    () => {
      throw new TypeError('The router answers planned routes itself.')
    },
  )
  return { ...draft, isBuilt: false }
}

function authorizationOf({ auth, action: name, dataAction: isData }: InterfaceRow): Authorization {
  if (auth === 'iam') return (isData === true ? dataAction : action)(name as ActionName)
  return auth === 'anonymous' ? anonymous : authenticated
}
