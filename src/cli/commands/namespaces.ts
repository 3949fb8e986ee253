import { dump } from 'js-yaml'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { type Reservation, reservedNamespaceObject } from '../../core/namespaces.ts'
import { requireBoundaryId } from '../boundaryNames.ts'
import type { Command } from '../command.ts'
import { usage } from '../failure.ts'
import { type Manifest, manifestsIn } from '../manifests.ts'
import { SCOPE_OPTIONS } from '../session.ts'

export const namespaces: Command = {
  name: 'namespaces',
  summary: 'Print the namespaces of boundaries and groups, for a Git tree that is applied at once',
  options: [
    {
      long: 'file',
      short: 'f',
      value: 'FILE',
      isRepeatable: true,
      summary: 'Manifests with boundaries and groups, or a folder of such; - is stdin',
    },
    ...SCOPE_OPTIONS,
  ],
  details:
    'Without --file: those of --boundary, and of --group in it. The platform is not asked: the names follow from\nthe id of the boundary and the name of the group. Whoever applies them is an administrator of the cluster.',
  async run(input, { terminal }) {
    const files = input.all('file')
    const [boundary, group] = [input.text('boundary'), input.text('group')]
    const found: Reservation[] = []
    if (boundary !== undefined) found.push(...reservationsAt(boundary, group))
    for await (const manifest of manifestsIn(files, terminal)) found.push(...reservationsOf([manifest]))
    if (found.length === 0) throw usage('Name manifests with a boundary or a group (--file), or a --boundary.')
    const byName = new Map(found.map((each) => [each.name, each]))
    terminal.out([...byName.values()].map((each) => dump(reservedNamespaceObject(each))).join('---\n'))
  },
}

function reservationsAt(boundary: string, group: string | undefined): Reservation[] {
  requireBoundaryId(boundary)
  const reservation: Reservation = { for: 'Boundary', name: boundaryNamespace(boundary) }
  return group === undefined
    ? [reservation]
    : [reservation, { for: 'ResourceGroup', name: groupNamespace(boundary, group) }]
}

/** Returns the namespaces of the boundaries and groups among the manifests; for a group, also that of its boundary. */
export function reservationsOf(manifests: readonly Pick<Manifest, 'kind' | 'name' | 'namespace'>[]): Reservation[] {
  return manifests.flatMap(({ kind, name = '', namespace = '' }) => {
    if (kind === 'Boundary') return reservationsAt(name, undefined)
    if (kind !== 'ResourceGroup') return []
    const [prefix, boundary] = [boundaryNamespace(''), namespace.slice(boundaryNamespace('').length)]
    if (!namespace.startsWith(prefix)) throw usage(`ResourceGroup "${name}" has no metadata.namespace boundary-<id>.`)
    return reservationsAt(boundary, name)
  })
}
