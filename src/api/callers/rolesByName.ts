import { type Definition, roleNamed } from '../../crds/roleIncarnations.ts'

/** The roles by display name, so that a role is compared only with those of its name. Keeps no permissions. */
export class RolesByName {
  readonly #named = new Map<string, Map<string, Definition>>()

  add({ metadata: { name, annotations, creationTimestamp }, spec: { displayName, isBuiltIn } }: Definition): void {
    const metadata = { name, ...(annotations && { annotations }), ...(creationTimestamp && { creationTimestamp }) }
    const roles = this.#named.get(displayName) ?? new Map<string, Definition>()
    this.#named.set(displayName, roles.set(name, { metadata, spec: { displayName, isBuiltIn } }))
  }

  remove(displayName: string, name: string): void {
    const roles = this.#named.get(displayName)
    roles?.delete(name)
    if (roles?.size === 0) this.#named.delete(displayName)
  }

  /** Returns the names of the role that counts, and of those that do not. The same one counts after every restart. */
  choose(displayName: string): { first: string | undefined; others: readonly string[] } {
    const roles = [...(this.#named.get(displayName)?.values() ?? [])]
    const first = roleNamed(roles, displayName)?.metadata.name
    return { first, others: roles.map(({ metadata }) => metadata.name).filter((name) => name !== first) }
  }
}
