/**
 * Returns undefined if the file or folder does not exist. Every other error is thrown: a file that cannot be read must
 * not look like one that is not there.
 */
export async function unlessAbsent<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}
