import { BUILT_IN_ROLES } from '../../src/iam/roles.ts'
import { assign, B1, B2 } from '../make/authorizationRecords.ts'
import { makeFacade } from './facade.ts'

export const [ONE, TWO] = [B1.slice(12), B2.slice(12)]
export const roles = [...BUILT_IN_ROLES]
type Given = Parameters<typeof makeFacade>[0]

/** A boundary with two groups and three databases; another one that no caller here may read. */
export function shop(given: Given = { assignments: [assign('Owner', B1)] }) {
  const facade = makeFacade({ roles, ...given })
  facade.boundary(ONE)
  facade.boundary(TWO)
  facade.group(ONE, 'shop')
  facade.group(ONE, 'bakery')
  facade.group(TWO, 'shop')
  facade.vector(ONE, 'shop', 'index', { tags: { team: 'search' } })
  facade.vector(ONE, 'shop', 'other')
  facade.vector(ONE, 'bakery', 'bread')
  facade.vector(TWO, 'shop', 'foreign')
  return facade
}
