import { PREFIX } from '../core/labels.ts'
import { listSettingMatching } from './fields.ts'

/** A name of a label or an annotation, with its optional prefix, and `=`. */
const NAME = '^([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?='
/** The platform, its policies and Kubernetes go by these. */
const OWN = [PREFIX, 'pod-security.kubernetes.io/', 'kubernetes.io/', 'app.kubernetes.io/']

const pairsMatching = (value: string, example: string) =>
  listSettingMatching(new RegExp(`${NAME}${value}$`), `expected a name and its value, such as ${example}`).refine(
    (pairs) => !pairs.some((pair) => OWN.some((prefix) => pair.startsWith(prefix))),
    `must have no name that begins with ${OWN.join(', ')}`,
  )

/** What clusters of others ask of every namespace: sidecars, owners, costs. */
export const namespaceSettings = {
  namespaceLabels: pairsMatching('([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?', 'istio-injection=disabled')
    .default([])
    .describe(
      'Labels of the namespaces of boundaries and resource groups, also on connected clusters, such as istio-injection=disabled. They are removed with the setting',
    ),
  namespaceAnnotations: pairsMatching('.*', 'example.com/owner=platform')
    .default([])
    .describe('Annotations of the same namespaces, such as example.com/owner=platform'),
}
