import { z } from 'zod'
import { objectId } from '../../core/ids.ts'
import { RoleDefinition } from '../../crds/rbac.ts'
import { BUILT_IN_ROLES, isRootOnly, type Role } from '../../iam/roles.ts'
import type { Services } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft } from '../http/route.ts'
import { listRoute } from '../resources/collection/columns.ts'
import { Uuid } from '../resources/dto.ts'
import { findBoundary } from '../resources/find.ts'
import { flag, text } from '../resources/paging.ts'

const RoleDefinitionDto = namedRecord('RoleDefinitionDto', {
  id: Uuid,
  displayName: z.string().describe('The roleDefinitionName'),
  description: z.string(),
  actions: z.array(z.string()),
  notActions: z.array(z.string()),
  dataActions: z.array(z.string()),
  notDataActions: z.array(z.string()),
  assignableScopes: z.array(z.string()),
  isBuiltIn: z.boolean(),
  isRootOnly: z.boolean(),
})
type RoleDefinitionDto = z.output<typeof RoleDefinitionDto>

export function roleIdOf(name: string): string {
  return objectId(RoleDefinition.resource, { name })
}

function roleDto(role: Role, isBuiltIn: boolean): RoleDefinitionDto {
  const { name, displayName, description, actions, notActions, dataActions, notDataActions, assignableScopes } = role
  return {
    id: roleIdOf(name),
    displayName,
    description,
    actions: [...actions],
    notActions: [...notActions],
    dataActions: [...dataActions],
    notDataActions: [...notDataActions],
    assignableScopes: [...assignableScopes],
    isBuiltIn,
    isRootOnly: isRootOnly(role),
  }
}

/** Built-in roles are part of the program; their objects in the cluster are copies. */
function everyRole({ records }: Services): RoleDefinitionDto[] {
  const builtIn = new Set(BUILT_IN_ROLES.map(({ name }) => name))
  const custom = records.peekAll(RoleDefinition).filter(({ metadata }) => !builtIn.has(metadata.name))
  return [
    ...BUILT_IN_ROLES.map((role) => roleDto(role, true)),
    ...custom.map(({ metadata, spec }) => roleDto({ ...spec, name: metadata.name }, false)),
  ]
}

export const roleDefinitionRoutes: readonly RouteDraft[] = [
  listRoute('{B}/providers/authorization/roleDefinitions', {
    auth: action('rbac/members/read'),
    summary: 'The roles that can be given, and what each holds',
    dto: RoleDefinitionDto,
    columns: {
      displayName: text('Name', { isSearched: true }),
      isBuiltIn: flag('Built in'),
      isRootOnly: flag('At the root only'),
    },
    sort: 'displayName',
    name: 'displayName',
    rows: async (context) => {
      await findBoundary(context, context.parameters.boundaryId ?? '')
      return everyRole(context.services)
    },
  }),
]
