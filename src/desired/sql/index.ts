import { encodePasswords, SQL_PORTS, type SqlPasswords } from '../../contracts/sql.ts'
import type { KubeObject } from '../../core/object.ts'
import type { SqlInstance } from '../../crds/sql.ts'
import { configMap, secret } from '../workload/child.ts'
import { networkPolicy, publicService, service, servicePort } from '../workload/network.ts'
import { deferredConfiguration, engineConfiguration } from './config.ts'
import { type SqlInput, sqlShared } from './types.ts'

export { sqlWorkload } from './statefulSet.ts'
export { type SqlInput, sqlInput } from './types.ts'

/** Returns all children but the Secret, which is written before, and the StatefulSet, which is written last. */
export function sqlAuxiliaryChildren(input: SqlInput): KubeObject[] {
  const { names } = input
  const port = SQL_PORTS[input.instance.spec.engine]
  const ports = [servicePort('sql', port)]
  const objects = [
    configMap(input, names.config, { ...engineConfiguration(input), ...deferredConfiguration(input) }),
    // The StatefulSet needs a headless Service for its pod's DNS name.
    service(input, names.peers, { clusterIP: 'None', ports }),
    service(input, names.workload, { type: 'ClusterIP', ports }),
    networkPolicy(input, names.workload, { clientPorts: [port] }),
    publicService(input, names.publicService, { ports }),
  ]
  return objects.filter((object) => object !== undefined)
}

/** The Secret with the logins. Passwords are generated elsewhere. */
export function loginSecret(instance: SqlInstance, passwords: SqlPasswords) {
  const shared = sqlShared(instance)
  return secret(shared, shared.names.logins, encodePasswords(passwords))
}
