/** Work that didn't answer in time. */
export class Late extends Error {}

/**
 * What work answers, where it does so in time.
 *
 * @throws Late when it doesn't; the work itself goes on, and nobody hears how it ends
 */
export async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Late(`no answer in ${ms / 1000} s`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
