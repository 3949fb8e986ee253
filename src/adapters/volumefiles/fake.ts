import { PassThrough } from 'node:stream'
import type { FileRequest } from '../../contracts/files.ts'
import { serve } from './agent/serve.ts'
import type { FileOptions, FilesLocation, VolumeFiles } from './port.ts'
import { decodeFileAnswer, encodeFileRequest } from './session.ts'

/** Uses local folders as volumes, with the same program that runs beside real ones. */
export class LocalVolumeFiles implements VolumeFiles {
  readonly #folders = new Map<string, string>()

  /** @param folder the content of the volume */
  add(namespace: string, claim: string, folder: string): void {
    this.#folders.set(`${namespace}/${claim}`, folder)
  }

  async ask({ namespace, volumes }: FilesLocation, request: FileRequest, { body, signal }: FileOptions) {
    const folders = volumes.map(({ path, claim, subPath = '' }) => ({
      path,
      folder: `${this.#folders.get(`${namespace}/${claim}`)}/${subPath}`,
    }))
    const output = new PassThrough()
    signal.addEventListener('abort', () => output.destroy(new Error('The session has ended.')), { once: true })
    serve(encodeFileRequest(folders, request, body), output).catch((error: Error) => output.destroy(error))
    return decodeFileAnswer(output)
  }
}
