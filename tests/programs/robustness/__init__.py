"""Does a step ever give up on a problem that has a solution?"""
