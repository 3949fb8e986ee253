import { IDENTITY_PATH, IDENTITY_VOLUME } from '../../contracts/managedIdentities.ts'

/** A Secret that is mounted as files under a path. Changes of the Secret change the files. */
export type MountedSecret = { name: string; secretName: string; path: string }

/** @param secretName the Secret with the identity's credentials; undefined without one */
export function identityFiles(secretName: string | undefined): MountedSecret[] {
  return secretName === undefined ? [] : [{ name: IDENTITY_VOLUME, secretName, path: IDENTITY_PATH }]
}

/** Readable by the pod's group, which owns its volumes. */
export function secretVolume({ name, secretName }: MountedSecret): object {
  return { name, secret: { secretName, defaultMode: 0o440 } }
}

export function secretMount({ name, path }: MountedSecret): object {
  return { name, mountPath: path, readOnly: true }
}
