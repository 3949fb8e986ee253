import type { Access } from '../http/context.ts'

/** Whether `holds` is true, if need be only after the caches have caught up with the API server. */
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
