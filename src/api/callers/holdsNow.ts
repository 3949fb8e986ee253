import type { Access } from '../http/context.ts'

/** Whether the principal holds what is asked for, which is asked again after a look at the API server before it is denied. */
export async function holdsNow(
  access: Pick<Access, 'catchUp'>,
  principalId: string,
  scope: string,
  holds: () => boolean,
): Promise<boolean> {
  if (holds()) return true
  await access.catchUp(principalId, scope)
  return holds()
}
